#include "worker/http/content_coding.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include <brotli/decode.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#include "parsers/text/strings.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {
namespace {

using Result = boost::system::result<std::string, DecodeError>;

/// Limit of decoded bytes, and the reason if it is exceeded.
struct Bound {
  std::size_t bytes;
  Reason reason;
  bool as_far_as_it_goes;

  Bound(std::size_t wire_bytes, const DecodeLimits& limits)
      : bytes(limits.max_bytes), reason(Reason::limit_body), as_far_as_it_goes(limits.as_far_as_it_goes) {
    const std::size_t by_ratio = std::max(limits.ratio_free_bytes, wire_bytes * limits.max_ratio);
    if (by_ratio < bytes) {
      bytes = by_ratio;
      reason = Reason::limit_ratio;
    }
    if (limits.granted_bytes < bytes) {
      bytes = limits.granted_bytes;
      reason = Reason::worker_memory;
    }
  }

  /// Whether to return the start of a longer document.
  bool cuts() const { return as_far_as_it_goes && reason == Reason::limit_body; }

  DecodeError exceeded() const {
    if (reason == Reason::worker_memory) return {reason, "needs more memory when decoded"};
    return {reason, reason == Reason::limit_body ? "more than " + std::to_string(bytes) + " bytes when decoded"
                                                 : "has a suspiciously high compression ratio"};
  }
};

DecodeError broken(std::string_view coding) {
  return {Reason::http_truncated, "its " + std::string(coding) + " coding is broken or cut off"};
}

/// A decoder's output buffer, which doubles in size. It may hold one byte more than the limit, to detect an excess.
class Output {
 public:
  explicit Output(const Bound& bound, std::size_t first) : most_(bound.bytes + 1) {
    text_.resize(std::clamp<std::size_t>(first, 256, most_));
  }

  char* free_space() { return text_.data() + used_; }
  std::size_t free_bytes() const { return text_.size() - used_; }
  bool exceeded() const { return used_ == most_; }
  bool at_most() const { return text_.size() == most_; }
  void grow() { text_.resize(std::min(text_.size() * 2, most_)); }
  void take(std::size_t bytes) { used_ += bytes; }

  std::string finish() {
    text_.resize(used_);
    return std::move(text_);
  }
  /// Result if the limit is exceeded.
  Result finish_over(const Bound& bound) {
    if (!bound.cuts()) return bound.exceeded();
    used_ = bound.bytes;
    return finish();
  }

 private:
  std::size_t most_;
  std::size_t used_ = 0;
  std::string text_;
};

/// Initial size of the output; most documents compress to a fifth or a quarter.
std::size_t likely_size(std::size_t wire_bytes) {
  return wire_bytes * 6;
}

/// The last member's size modulo 2³², or 0 if implausible: deflate compresses by at most 1032.
std::size_t stated_gzip_size(std::string_view body) {
  std::uint32_t size = 0;
  if (body.size() < 18) return 0;
  for (int i = 4; i >= 1; --i) {
    size = size << 8 | static_cast<unsigned char>(body[body.size() - 5 + static_cast<std::size_t>(i)]);
  }
  return size / 1032 <= body.size() ? size : 0;
}

Result gunzip(std::string_view body, const Bound& bound) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decoder(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (decoder == nullptr) throw std::bad_alloc();
  const std::size_t stated = stated_gzip_size(body);
  Output output(bound, stated > 0 ? stated : likely_size(body.size()));
  bool any = false;
  while (body.starts_with("\x1f\x8b")) {  // the next member; other data after the first is padding
    std::size_t read = 0, written = 0;
    switch (libdeflate_gzip_decompress_ex(decoder.get(), body.data(), body.size(), output.free_space(),
                                          output.free_bytes(), &read, &written)) {
      case LIBDEFLATE_SUCCESS:
        output.take(written);
        if (output.exceeded()) return bound.exceeded();
        body.remove_prefix(read);
        any = true;
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE:  // retry this member with more room
        if (output.at_most()) return bound.exceeded();
        output.grow();
        break;
      default:
        return broken("gzip");
    }
  }
  if (!any) return broken("gzip");
  return output.finish();
}

/// Decodes the start of a truncated gzip file, which libdeflate cannot. Returns an error if the data is corrupt before
/// its end.
Result gunzip_start(std::string_view body, const Bound& bound) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  Output output(bound, likely_size(body.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  for (;;) {
    const std::size_t room = output.free_bytes();
    stream.next_out = reinterpret_cast<Bytef*>(output.free_space());
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    output.take(room - stream.avail_out);
    if (output.exceeded()) return output.finish_over(bound);
    if (result == Z_STREAM_END || result == Z_BUF_ERROR) return output.finish();
    if (result != Z_OK) return broken("gzip");
    if (stream.avail_out == 0) {
      output.grow();
    } else if (stream.avail_in == 0) {
      return output.finish();
    }
  }
}

Result unbrotli(std::string_view body, const Bound& bound) {
  const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> decoder(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &BrotliDecoderDestroyInstance);
  if (decoder == nullptr) throw std::bad_alloc();
  Output output(bound, likely_size(body.size()));
  auto next_in = reinterpret_cast<const std::uint8_t*>(body.data());
  std::size_t left_in = body.size();
  for (;;) {
    auto next_out = reinterpret_cast<std::uint8_t*>(output.free_space());
    std::size_t left_out = output.free_bytes();
    const auto result = BrotliDecoderDecompressStream(decoder.get(), &left_in, &next_in, &left_out, &next_out, nullptr);
    output.take(output.free_bytes() - left_out);
    if (output.exceeded()) return output.finish_over(bound);
    if (result == BROTLI_DECODER_RESULT_SUCCESS) return output.finish();
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT && bound.as_far_as_it_goes) return output.finish();
    if (result != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) return broken("br");
    output.grow();
  }
}

Result unzstd(std::string_view body, const Bound& bound) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decoder(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (decoder == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_windowLogMax, 23);  // 8 MiB: RFC 9659
  Output output(bound, likely_size(body.size()));
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  std::size_t rest = 1;  // 0: a frame is complete
  while (in.pos < in.size || rest != 0) {
    ZSTD_outBuffer out{output.free_space(), output.free_bytes(), 0};
    const std::size_t before = in.pos;
    rest = ZSTD_decompressStream(decoder.get(), &out, &in);
    if (ZSTD_isError(rest) != 0) return broken("zstd");
    output.take(out.pos);
    if (output.exceeded()) return output.finish_over(bound);
    if (output.free_bytes() == 0) {
      output.grow();
    } else if (in.pos == before && out.pos == 0) {
      if (bound.as_far_as_it_goes) break;
      return broken("zstd");  // input is truncated
    }
  }
  return output.finish();
}

/// The one coding in use: lower case, "" if none. More than one is an error.
Result coding_of(std::string_view content_encoding) {
  std::string found;
  while (!content_encoding.empty()) {
    const std::size_t comma = std::min(content_encoding.find(','), content_encoding.size());
    std::string coding = lower(trim_field(content_encoding.substr(0, comma)));
    content_encoding.remove_prefix(std::min(comma + 1, content_encoding.size()));
    if (coding.empty() || coding == "identity") continue;
    if (coding == "x-gzip") coding = "gzip";
    if (!found.empty()) return DecodeError{Reason::limit_coding, "more than one content coding"};
    found = std::move(coding);
  }
  return found;
}

/// Whether a document in any encoding could start like this.
bool starts_like_text(std::string_view body) {
  constexpr std::string_view before("\xef\xbb\xbf\xfe\xff\0 \t\r\n", 10);  // byte order marks, zeros of UTF-16
  const std::size_t first = body.substr(0, 4096).find_first_not_of(before);
  return first != body.npos && (body[first] == '<' || body[first] == '{' || body[first] == '[');
}

bool is_brotli(std::string_view body) {
  const DecodeLimits start{.max_bytes = 64, .ratio_free_bytes = 64};
  const auto decoded = unbrotli(body, Bound(body.size(), start));
  return decoded || decoded.error().reason == Reason::limit_body;
}

/// The coding of `body` as detected from its bytes, else `named`.
std::string coding_in(std::string_view body, const std::string& named) {
  if (body.starts_with("\x1f\x8b\x08")) return "gzip";
  if (body.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (!starts_like_text(body) || (named == "br" && is_brotli(body))) return named;
  return "";
}

}  // namespace

Result decode_content(std::string&& body, std::string_view content_encoding, const DecodeLimits& limits,
                      std::string* fault) {
  const Result said = coding_of(content_encoding);
  const std::string named = said ? *said : "";
  const std::string coding = coding_in(body, named);
  if (!said && coding.empty() && !starts_like_text(body)) return said.error();
  if (fault != nullptr && !body.empty() && (!said || coding != named)) {
    *fault = fmt::format("its Content-Encoding is \"{}\", and its body is {}", content_encoding.substr(0, 40),
                         coding.empty() ? "not coded" : coding);
  }
  const Bound bound(body.size(), limits);
  if (coding.empty()) {
    if (body.size() > bound.bytes && !bound.cuts()) return bound.exceeded();
    if (body.size() > bound.bytes) body.resize(bound.bytes);
    return std::move(body);
  }
  if (body.empty()) return std::move(body);  // empty body with a coding, sent by some servers
  if (coding == "gzip") return bound.as_far_as_it_goes ? gunzip_start(body, bound) : gunzip(body, bound);
  if (coding == "br") return unbrotli(body, bound);
  if (coding == "zstd") return unzstd(body, bound);
  return DecodeError{Reason::limit_coding, "an unsupported content coding: " + coding.substr(0, 40)};
}

bool can_decode(std::string_view content_encoding) {
  const Result coding = coding_of(content_encoding);
  return coding && (coding->empty() || *coding == "gzip" || *coding == "br" || *coding == "zstd");
}

std::size_t stated_size(std::string_view body, std::string_view content_encoding) {
  const Result coding = coding_of(content_encoding);
  if (!coding) return 0;
  if (*coding == "gzip") return stated_gzip_size(body);
  if (*coding != "zstd") return 0;
  const unsigned long long size = ZSTD_getFrameContentSize(body.data(), body.size());
  return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : static_cast<std::size_t>(size);
}

bool looks_compressed(std::string_view body) {
  return body.starts_with("\x1f\x8b\x08") || body.starts_with("\x28\xb5\x2f\xfd");
}

}  // namespace feedmill
