#include "replica/io/send_ring.h"

#include <liburing.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr unsigned kEntries = 256;
constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
constexpr int kUnsent = -EINPROGRESS;  // no send says that

// The first kernels with rings did not.
bool KnowsSend(io_uring& ring) {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  const bool knows = probe && io_uring_opcode_supported(probe, IORING_OP_SEND);
  io_uring_free_probe(probe);
  return knows;
}

void SendOne(SendRing::Send& one) {
  const auto sent = send(one.socket, one.bytes.data(), one.bytes.size(), kFlags);
  one.result = sent < 0 ? -errno : static_cast<int>(sent);
}

}  // namespace

struct SendRing::Ring {
  io_uring ring;
};

SendRing::SendRing() : ring_(std::make_unique<Ring>()) {
  if (io_uring_queue_init(kEntries, &ring_->ring, 0) < 0)
    ring_.reset();
  else if (!KnowsSend(ring_->ring))
    Close();
}

SendRing::~SendRing() {
  Check(std::this_thread::get_id() == thread_, "a ring ends on its thread");
  if (ring_) Close();
}

void SendRing::Close() {
  io_uring_queue_exit(&ring_->ring);
  ring_.reset();
}

void SendRing::All(std::vector<Send>& sends) {
  Check(std::this_thread::get_id() == thread_, "a ring is used on its thread");
  for (Send& one : sends) one.result = kUnsent;
  if (sends.size() > 1) {
    Send* const end = sends.data() + sends.size();
    for (Send* first = sends.data(); ring_ && first != end;) {
      Send* const last = first + std::min<std::ptrdiff_t>(end - first, kEntries);
      if (!Some(first, last)) Close();
      first = last;
    }
  }
  for (Send& one : sends)
    if (one.result == kUnsent) SendOne(one);
}

// None of them waits for anything, so whatever was taken is over when the call returns.
bool SendRing::Some(Send* first, Send* last) {
  io_uring& ring = ring_->ring;
  for (Send* one = first; one != last; ++one) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring);
    if (!entry) return false;
    io_uring_prep_send(entry, one->socket, one->bytes.data(), one->bytes.size(), kFlags);
    io_uring_sqe_set_data(entry, one);
  }
  for (auto left = static_cast<unsigned>(last - first); left > 0;) {
    const int submitted = io_uring_submit_and_wait(&ring, 1);
    unsigned seen = 0;
    unsigned head = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&ring, head, completion) {
      static_cast<Send*>(io_uring_cqe_get_data(completion))->result = completion->res;
      ++seen;
    }
    io_uring_cq_advance(&ring, seen);
    left -= seen;
    if (submitted < 0 && submitted != -EINTR && left > 0) return false;
  }
  return true;
}

}  // namespace once
