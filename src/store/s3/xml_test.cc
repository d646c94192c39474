#include "store/s3/xml.h"

#include <gtest/gtest.h>

namespace muster::s3 {
namespace xml_test {

TEST(XmlTest, ReadsElementsTextAndEitherQuoting) {
  const auto root = parse_xml(
      "<?xml version='1.0' encoding=\"UTF-8\"?>\n<!-- note -->"
      "<s3:List xmlns:s3='http://x/' a=\"<>'\"><Key>a</Key>\n<Key>b</Key><Empty/><E b='1' "
      "/></s3:List>");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root->name, "List");
  ASSERT_EQ(root->children.size(), 4u);
  EXPECT_EQ(root->children[1].text, "b");
  EXPECT_EQ(root->child_text("Key"), "a");
  EXPECT_EQ(root->child_text("Empty"), "");
  EXPECT_EQ(root->child("Absent"), nullptr);
}

TEST(XmlTest, ResolvesEntitiesAndCdata) {
  const auto root =
      parse_xml("<a>&lt;&amp;&quot;&apos;&gt;&#233;&#xe9;&#x1F600;<![CDATA[<&]]></a>");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root->text, "<&\"'>éé😀<&");
}

TEST(XmlTest, RefusesWhatIsNotWellFormed) {
  for (const char* text : {"",
                           "plain",
                           "<a>",
                           "<a></b>",
                           "</a>",
                           "<a/><b/>",
                           "<a b></a>",
                           "<a b=c/>",
                           "<a b='c/>",
                           "<a>&nbsp;</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&lt</a>",
                           "<a>&#x110000;</a>",
                           "<!-- ",
                           "<a><![CDATA[x</a>",
                           "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
                           "<a/>x",
                           "<",
                           "<a/",
                           "<>",
                           "< a/>"}) {
    EXPECT_TRUE(parse_xml(text).is(Errc::kCorrupt)) << text;
  }
}

TEST(XmlTest, BoundsDepth) {
  std::string deep, end;
  for (int i = 0; i < 32; ++i) {
    deep += "<a>";
    end += "</a>";
  }
  EXPECT_TRUE(parse_xml(deep + end).ok());
  EXPECT_TRUE(parse_xml("<a>" + deep + end + "</a>").is(Errc::kCorrupt));
}

}  // namespace xml_test
}  // namespace muster::s3
