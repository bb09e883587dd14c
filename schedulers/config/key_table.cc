#include "schedulers/config/key_table.h"

namespace millrace::sched {
namespace {

// Returns a bound as a whole number, for counts.
std::uint32_t Whole(double bound) { return static_cast<std::uint32_t>(bound); }

}  // namespace

void KeyTable::Real(std::string name, double* field, NumberRange range, std::string one_line) {
  Add(std::move(name), RealField(field, range.least, range.most, range.open_below), std::move(one_line));
}

void KeyTable::Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line) {
  Add(std::move(name), IntegerField(field, Whole(range.least), Whole(range.most)), std::move(one_line));
}
void KeyTable::Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range, std::string one_line) {
  Add(std::move(name), IntegerField(field, Whole(range.least), Whole(range.most)), std::move(one_line));
}

void KeyTable::Flag(std::string name, bool* field, std::string one_line) {
  Add(std::move(name), BoolField(field), std::move(one_line));
}
void KeyTable::Flag(std::string name, std::optional<bool>* field, std::string one_line) {
  Add(std::move(name), BoolField(field), std::move(one_line));
}

void KeyTable::Duration(std::string name, Micros* field, Micros most, std::string one_line) {
  Add(std::move(name), DurationField(field, 0, most), std::move(one_line));
}
void KeyTable::Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line) {
  Add(std::move(name), DurationField(field, 0, most), std::move(one_line));
}

void KeyTable::Bandwidth(std::string name, double* field, std::string one_line) {
  Add(std::move(name), BandwidthField(field, 1), std::move(one_line));
}

void KeyTable::AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                         std::function<std::optional<std::size_t>()> chosen, std::string one_line) {
  Add(std::move(name), ChoiceField(std::move(names), std::move(choose), std::move(chosen)), std::move(one_line));
}

}  // namespace millrace::sched
