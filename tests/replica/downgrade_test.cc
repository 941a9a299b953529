// A directory that a newer version of the program wrote.
#include <gtest/gtest.h>

#include "replica/storage/keys.h"
#include "tests/replica/node_story.h"

namespace once {
namespace {

void AddField(google::protobuf::Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1000, "of tomorrow");
}
bool HasField(const google::protobuf::Message& message) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  return fields.field_count() == 1 && fields.field(0).length_delimited() == "of tomorrow";
}

class Downgrade : public testing::Test {
 protected:
  template <typename Record>
  Record Stored(const std::string& key) {
    Record record;
    EXPECT_TRUE(record.ParseFromString(node_.disk.visible().at(key)));
    return record;
  }
  /// Stops the node and lets the newer version write.
  void Write(std::vector<std::pair<std::string, std::string>> records) {
    node_.Crash();
    MemoryDisk::Contents contents = node_.disk.visible();
    for (auto& [key, value] : records) contents[key] = std::move(value);
    node_.disk = MemoryDisk(std::move(contents));
  }

  NodeStory node_;
};

TEST_F(Downgrade, S_32_ADirectoryWithRecordsOfAHigherFormatIsRefusedAndLeftAsItIs) {
  node_.Ask(BeginKey("k"));
  Head head = Stored<Head>(keys::Head());
  head.set_format(kRecordFormat + 1);
  Write({{keys::Head(), head.SerializeAsString()}});
  const MemoryDisk::Contents before = node_.disk.visible();
  try {
    node_.Boot();
    FAIL() << "it started";
  } catch (const KvUnreadable& why) {
    EXPECT_NE(std::string(why.what()).find("a newer version"), std::string::npos) << why.what();
  }
  EXPECT_EQ(node_.disk.visible(), before);
}

TEST_F(Downgrade, S_32_FieldsOfANewerVersionAreKeptInWhatThisOneChanges) {
  const Answer owned = node_.Ask(BeginKey("k"));
  const std::string run_id = node_.Ask(CreateRunUnder("r", "approval")).run_id;
  Head head = Stored<Head>(keys::Head());
  Slot slot = Stored<Slot>(keys::Slot(HashOfKey("k")));
  once::Run run = Stored<once::Run>(keys::Run(run_id));
  slot.set_format(kRecordFormat + 1);
  AddField(head), AddField(slot), AddField(*slot.mutable_claims(0)), AddField(run);
  Write({{keys::Head(), head.SerializeAsString()},
         {keys::Slot(HashOfKey("k")), slot.SerializeAsString()},
         {keys::Run(run_id), run.SerializeAsString()}});
  node_.Boot();
  ASSERT_EQ(node_.Ask(SettleAs(owned, COMPLETED)).kind, Answer::Kind::kDone);
  ASSERT_EQ(node_.Ask(CancelRunUnder("c", run_id)).kind, Answer::Kind::kDone);
  EXPECT_EQ(node_.Ask(BeginKey("k")).kind, Answer::Kind::kReplay);
  EXPECT_TRUE(HasField(Stored<Head>(keys::Head())));
  const Slot settled = Stored<Slot>(keys::Slot(HashOfKey("k")));
  EXPECT_EQ(settled.claims(0).state(), COMPLETED);
  EXPECT_EQ(settled.format(), kRecordFormat + 1);
  EXPECT_TRUE(HasField(settled));
  EXPECT_TRUE(HasField(settled.claims(0)));
  EXPECT_EQ(Stored<once::Run>(keys::Run(run_id)).status(), RUN_CANCELLED);
  EXPECT_TRUE(HasField(Stored<once::Run>(keys::Run(run_id))));
}

}  // namespace
}  // namespace once
