// Rows of CSV as benches/results has them: each says when it was measured, at which revision, and
// on what.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace peers {

// What tells programs the revision, for there may be no repository where the GPU is.
constexpr const char *REVISION = "BIJECTIVE_SHUFFLE_REVISION";

// A cell, in quotes if it needs them.
inline std::string cell(const std::string &text) {
    if (text.find_first_of(",\"") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + '"';
}

// What every row begins with.
class Origin {
public:
    // Throws if nothing says which revision it is.
    explicit Origin(const std::string &machine) {
        const char *revision = std::getenv(REVISION);
        if (revision == nullptr || *revision == '\0') {
            throw std::runtime_error(std::string("set ") + REVISION + ", to `git rev-parse --short=7 HEAD` for example");
        }
        const std::time_t now = std::time(nullptr);
        char date[sizeof "2000-01-01"];
        std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
        begin_ = cell(date) + ',' + cell(revision) + ',' + cell(machine);
    }

    // Prints the names of the columns that follow the origin's.
    static void print_head(const char *columns) { std::printf("date,revision,machine,%s\n", columns); }

    // Prints a row. Its reader sees how far a long run is.
    void print(std::initializer_list<std::string> cells) const {
        std::string row = begin_;
        for (const std::string &text : cells) {
            row += ',' + cell(text);
        }
        std::printf("%s\n", row.c_str());
        std::fflush(stdout);
    }

private:
    std::string begin_;
};

// A number with `count` significant digits.
inline std::string digits(double number, int count) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", count, number);
    return text;
}

} // namespace peers
