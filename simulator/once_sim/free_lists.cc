// Memory for one thread that makes and drops millions of small objects: lists of free blocks by
// size. A quarter of the simulator's time goes into malloc otherwise. Builds with a sanitizer keep
// their own, so that what is written out of bounds or after its end is found there.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr std::size_t kStepBytes = 16;  // sizes are multiples of it, and so is every address
constexpr std::size_t kSizes = 64;      // larger ones are malloc's
constexpr std::size_t kChunkBytes = 1 << 20;

// In front of every block: its size in steps, 0 for malloc's own. In a free one: the next.
struct alignas(kStepBytes) Block {
  std::size_t steps;
  Block* next;
};
static_assert(sizeof(Block) == kStepBytes);

std::array<Block*, kSizes> free_blocks;
std::byte* chunk = nullptr;
std::size_t chunk_left = 0;

Block* Malloc(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return static_cast<Block*>(memory);
}

Block* Carve(std::size_t steps) {
  const std::size_t bytes = (steps + 1) * kStepBytes;
  if (chunk_left < bytes) {
    chunk = reinterpret_cast<std::byte*>(Malloc(kChunkBytes));
    chunk_left = kChunkBytes;
  }
  Block* block = new (chunk) Block{steps, nullptr};
  chunk += bytes;
  chunk_left -= bytes;
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) {
  const std::size_t steps = bytes == 0 ? 1 : (bytes + kStepBytes - 1) / kStepBytes;
  if (steps >= kSizes) {
    Block* block = Malloc(bytes + sizeof(Block));
    block->steps = 0;
    return block + 1;
  }
  Block* block = free_blocks[steps];
  if (block)
    free_blocks[steps] = block->next;
  else
    block = Carve(steps);
  return block + 1;
}

void operator delete(void* memory) noexcept {
  if (!memory) return;
  Block* block = static_cast<Block*>(memory) - 1;
  if (block->steps == 0) return std::free(block);
  block->next = free_blocks[block->steps];
  free_blocks[block->steps] = block;
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

#endif
