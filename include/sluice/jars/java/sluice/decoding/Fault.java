package sluice.decoding;

import org.apache.spark.unsafe.types.UTF8String;

/** What can be wrong with a record's bytes, by the names of {@code sluice.quality.reasons}. */
final class Fault {
  static final UTF8String TOMBSTONE = UTF8String.fromString("tombstone");
  static final UTF8String EMPTY = UTF8String.fromString("empty");
  static final UTF8String BAD_FRAMING = UTF8String.fromString("bad_framing");
  static final UTF8String UNKNOWN_SCHEMA = UTF8String.fromString("unknown_schema");
  static final UTF8String MALFORMED = UTF8String.fromString("malformed");
  static final UTF8String TRAILING_BYTES = UTF8String.fromString("trailing_bytes");
  static final UTF8String DUPLICATE_KEY = UTF8String.fromString("duplicate_key");
  static final UTF8String WRONG_CASE = UTF8String.fromString("wrong_case");
  static final UTF8String NOT_FINITE = UTF8String.fromString("not_finite");
  static final UTF8String WRONG_TYPE = UTF8String.fromString("wrong_type");

  private Fault() {}
}
