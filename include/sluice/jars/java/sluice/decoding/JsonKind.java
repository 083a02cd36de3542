package sluice.decoding;

/** What a value of JSON is. */
enum JsonKind {
  OBJECT("an object"),
  ARRAY("a list"),
  TEXT("text"),
  WHOLE("a whole number"),
  FRACTION("a fraction"),
  NOT_FINITE("a fraction"),
  BOOLEAN("true or false"),
  NULL("nothing");

  final String words;

  JsonKind(String words) {
    this.words = words;
  }

  boolean isNumber() {
    return this == WHOLE || this == FRACTION || this == NOT_FINITE;
  }
}
