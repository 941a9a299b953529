// Certificates of regions for one test, made on the spot.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <string>

namespace once {

/// An authority that signs what it is asked to.
class Authority {
 public:
  explicit Authority(const std::string& name = "test authority")
      : name_(name), key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")) {}
  ~Authority() { EVP_PKEY_free(key_); }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  /// Writes the authority's own certificate.
  void Write(const std::string& path) const {
    X509* const certificate = Draft(key_, name_, "critical,CA:TRUE", "", 3600);
    Sign(certificate, path);
  }

  struct Wanted {
    std::string names;             // as in openssl.cnf: "URI:once://region/us"
    long valid_seconds = 3600;     // negative: it expired so long ago
    const char* kind = "ED25519";  // or "ED448"
  };
  /// Writes `stem`.crt and `stem`.key.
  void Issue(const Wanted& wanted, const std::string& stem) const {
    EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, wanted.kind);
    Sign(Draft(key, "someone", "critical,CA:FALSE", wanted.names, wanted.valid_seconds),
         stem + ".crt");
    std::FILE* const file = std::fopen((stem + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    EVP_PKEY_free(key);
  }
  void IssueRegion(const std::string& region, const std::string& stem,
                   long valid_seconds = 3600) const {
    Issue({"URI:once://region/" + region, valid_seconds}, stem);
  }

 private:
  static void Name(X509_NAME* name, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  }
  static void Extend(X509* certificate, int kind, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509* Draft(EVP_PKEY* key, const std::string& subject, const char* constraints,
              const std::string& names, long valid_seconds) const {
    X509* const certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds);
    X509_set_pubkey(certificate, key);
    Name(X509_get_subject_name(certificate), subject);
    Name(X509_get_issuer_name(certificate), name_);
    Extend(certificate, NID_basic_constraints, constraints);
    if (!names.empty()) Extend(certificate, NID_subject_alt_name, names);
    return certificate;
  }
  void Sign(X509* certificate, const std::string& path) const {
    X509_sign(certificate, key_, nullptr);
    std::FILE* const file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    X509_free(certificate);
  }

  const std::string name_;
  EVP_PKEY* const key_;
};

}  // namespace once
