package sluice.decoding;

import org.apache.avro.Schema;

/**
 * A value of Avro that is not null, with the type that it was written as: never a union.
 *
 * @param type of it
 * @param content Long, Float, Double, Boolean, UTF8String, bytes, the values of a record, or a list of entries
 */
record AvroValue(Schema type, Object content) {
  /** Return a field of a record; null if it is none, or does not have it. */
  AvroValue field(String name) {
    if (type.getType() != Schema.Type.RECORD || type.getField(name) == null) {
      return null;
    }
    return ((AvroValue[]) content)[type.getField(name).pos()];
  }
}
