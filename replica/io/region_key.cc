#include "replica/io/region_key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <filesystem>
#include <map>
#include <utility>

#include "replica/env/check.h"
#include "replica/io/peer_tls.h"

namespace once {
namespace {

constexpr char kPurpose[] = "once gossip frame 1";
constexpr std::size_t kSignatureBytes = 64;

template <typename Type, void (*Free)(Type*)>
struct Freeing {
  void operator()(Type* object) const { Free(object); }
};
using File = std::unique_ptr<BIO, Freeing<BIO, BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509, X509_free>>;
using Store = std::unique_ptr<X509_STORE, Freeing<X509_STORE, X509_STORE_free>>;
using Chain = std::unique_ptr<X509_STORE_CTX, Freeing<X509_STORE_CTX, X509_STORE_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freeing<EVP_MD_CTX, EVP_MD_CTX_free>>;

std::string Purposed(const std::string& bytes) {
  std::string message(kPurpose, sizeof kPurpose);  // with its final 0
  return message += bytes;
}

Key PublicPart(const EVP_PKEY* key) {
  unsigned char bytes[32];
  std::size_t size = sizeof bytes;
  Key known;
  if (EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1)
    known.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes, size));
  Check(known != nullptr, "an Ed25519 key has a public part");
  return known;
}

// Empty, or why the certificate does not count.
std::string Distrust(X509_STORE* authority, X509* certificate) {
  const Chain chain(X509_STORE_CTX_new());
  if (!chain || X509_STORE_CTX_init(chain.get(), authority, certificate, nullptr) != 1)
    return OpenSslError("cannot check it");
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(chain.get()), X509_V_FLAG_NO_CHECK_TIME);
  if (X509_verify_cert(chain.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(chain.get()));
}

std::variant<std::vector<Key>, std::string> ReadSigners(X509_STORE* authority,
                                                        const std::string& path,
                                                        const std::string& region) {
  const File file(BIO_new_file(path.c_str(), "r"));
  if (!file) return OpenSslError("cannot read " + path);
  std::vector<Key> keys;
  while (const Certificate certificate{PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr)}) {
    if (CertificateRegion(certificate.get()) != region)
      return path + " is not a certificate of region " + region;
    if (const std::string why = Distrust(authority, certificate.get()); !why.empty())
      return path + ": " + why;
    Key key(X509_get_pubkey(certificate.get()));
    if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519)
      return path + ": the key must be Ed25519";
    keys.push_back(std::move(key));
  }
  // The end of the file is reported as an error too.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return OpenSslError("cannot use certificate " + path);
  ERR_clear_error();
  if (keys.empty()) return path + " holds no certificate";
  return keys;
}

}  // namespace

struct RegionKey::Keys {
  Key own;
  std::map<std::string, std::vector<Key>> signers;  // ours too
};

RegionKey::RegionKey(RegionKeyOptions options) : options_(std::move(options)) {}

RegionKey::~RegionKey() = default;

std::variant<std::unique_ptr<RegionKey>, std::string> RegionKey::Load(RegionKeyOptions options) {
  std::unique_ptr<RegionKey> key(new RegionKey(std::move(options)));
  if (auto error = key->Reload()) return std::move(*error);
  return key;
}

std::optional<std::string> RegionKey::Reload() {
  ERR_clear_error();
  auto keys = std::make_unique<Keys>();
  const File file(BIO_new_file(options_.key_file.c_str(), "r"));
  if (file) keys->own.reset(PEM_read_bio_PrivateKey(file.get(), nullptr, nullptr, nullptr));
  if (!keys->own) return OpenSslError("cannot use key " + options_.key_file);
  if (EVP_PKEY_get_id(keys->own.get()) != EVP_PKEY_ED25519)
    return options_.key_file + ": the key must be Ed25519";
  const Store authority(X509_STORE_new());
  if (!authority || X509_STORE_load_file(authority.get(), options_.ca_file.c_str()) != 1)
    return OpenSslError("cannot use authority " + options_.ca_file);
  // What this region said before it lost its directory may come back, also from before its key was
  // changed.
  std::vector<Key>& said_by_us = keys->signers[options_.region];
  said_by_us.push_back(PublicPart(keys->own.get()));
  if (const std::string path = options_.certificates_dir + "/" + options_.region + ".crt";
      std::filesystem::exists(path)) {
    auto read = ReadSigners(authority.get(), path, options_.region);
    if (auto* error = std::get_if<std::string>(&read)) return std::move(*error);
    for (Key& key : std::get<std::vector<Key>>(read)) said_by_us.push_back(std::move(key));
  }
  for (const std::string& region : options_.peers) {
    auto read =
        ReadSigners(authority.get(), options_.certificates_dir + "/" + region + ".crt", region);
    if (auto* error = std::get_if<std::string>(&read)) return std::move(*error);
    keys->signers[region] = std::get<std::vector<Key>>(std::move(read));
  }
  keys_ = std::move(keys);
  return std::nullopt;
}

std::string RegionKey::Sign(const std::string& bytes) const {
  const std::string message = Purposed(bytes);
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  const DigestContext digest(EVP_MD_CTX_new());
  Check(digest &&
            EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, keys_->own.get()) == 1 &&
            EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                           reinterpret_cast<const unsigned char*>(message.data()),
                           message.size()) == 1 &&
            size == kSignatureBytes,
        "an Ed25519 key signs");
  return signature;
}

bool RegionKey::Verify(const std::string& origin, const std::string& bytes,
                       const std::string& signature) const {
  const auto at = keys_->signers.find(origin);
  if (at == keys_->signers.end() || signature.size() != kSignatureBytes) return false;
  const std::string message = Purposed(bytes);
  bool good = false;
  for (const Key& key : at->second) {
    const DigestContext digest(EVP_MD_CTX_new());
    good =
        good ||
        (digest && EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(digest.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(message.data()),
                          message.size()) == 1);
  }
  ERR_clear_error();
  return good;
}

}  // namespace once
