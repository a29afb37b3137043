#pragma once
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include <penstock/core/bytes.hpp>

/// One line of the driver's input: a word, then NAME=VALUE, divided by spaces.
class command {
 public:
  explicit command(std::string const& line) {
    std::istringstream words(line);
    words >> what_;
    for (std::string w; words >> w;)
      if (auto const at = w.find('='); at != w.npos) values_[w.substr(0, at)] = w.substr(at + 1);
  }

  [[nodiscard]] std::string const& what() const noexcept { return what_; }
  [[nodiscard]] std::string text(std::string const& name, std::string otherwise = {}) const {
    auto const at = values_.find(name);
    return at == values_.end() ? otherwise : at->second;
  }
  [[nodiscard]] long number(std::string const& name, long otherwise) const {
    auto const at = values_.find(name);
    return at == values_.end() ? otherwise : std::strtol(at->second.c_str(), nullptr, 10);
  }
  [[nodiscard]] unsigned count(std::string const& name, unsigned otherwise) const {
    return static_cast<unsigned>(number(name, otherwise));
  }
  [[nodiscard]] penstock::bytes size(std::string const& name, long otherwise) const {
    return penstock::bytes{static_cast<penstock::u64>(number(name, otherwise))};
  }

 private:
  std::string what_;
  std::map<std::string, std::string> values_;
};
