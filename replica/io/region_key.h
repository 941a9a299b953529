// A region's key: signs what the region says, and knows by which key each peer signs.
//
// It is the key of the region's TLS certificate, which therefore must be Ed25519: one pair of files
// per region to make, protect and renew. Frames are relayed through third regions, so a peer's
// certificate must be known before it connects: every node has a directory with <region>.crt of
// each peer. A certificate counts when it chains to the authority and names that region (see
// peer_tls.h), so that a file in the wrong place gives nobody another region's voice.
//
// Whether such a certificate is still valid by the calendar does not matter here: what a region
// signed in its time stays true, and journals outlive certificates. Who may connect now is decided
// by TLS, by the calendar.
//
// Renewing a certificate with the same key needs nothing else. For a new key: add the new
// certificate to <region>.crt on every peer (the file may hold several, any may have signed),
// reload them, then change the region's own files; drop the old one when all its frames have
// arrived. The region itself knows its present key; with its earlier certificates in its own
// <region>.crt it also takes back what it had signed by those.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace once {

struct RegionKeyOptions {
  std::string region;            // ours
  std::string key_file;          // PEM, Ed25519, ours
  std::string ca_file;           // PEM: who may sign certificates of regions
  std::string certificates_dir;  // <region>.crt of every peer
  std::vector<std::string> peers;
};

/// One thread.
class RegionKey {
 public:
  /// Reads the files. Anything missing, malformed, or of another region is an error in words.
  static std::variant<std::unique_ptr<RegionKey>, std::string> Load(RegionKeyOptions options);
  ~RegionKey();
  RegionKey(const RegionKey&) = delete;
  RegionKey& operator=(const RegionKey&) = delete;

  /// Reads the files again. On an error (returned) nothing changes.
  std::optional<std::string> Reload();

  /// 64 bytes, over `bytes` and a prefix that keeps them apart from anything else this key signs.
  std::string Sign(const std::string& bytes) const;
  /// True when `origin` is a peer or this region and one of its keys signed `bytes`.
  bool Verify(const std::string& origin, const std::string& bytes,
              const std::string& signature) const;

 private:
  struct Keys;
  explicit RegionKey(RegionKeyOptions options);

  const RegionKeyOptions options_;
  std::unique_ptr<const Keys> keys_;
};

}  // namespace once
