package sluice.decoding;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Confluent's framing: a zero, the id of a schema in a registry (four bytes, the highest first), then the value.
 *
 * <p>No registry is asked: the ids that are known are declared.
 */
final class FramedDecoder extends Decoder {
  private static final long serialVersionUID = 1;
  private static final int HEAD = 5;

  private final HashMap<Integer, Decoder> known;

  FramedDecoder(StructType fields, Map<Integer, Decoder> known) {
    super(fields);
    this.known = new HashMap<>(known);
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    if (value.length == 0) {
      return refused(Fault.EMPTY);
    }
    if (value.length < HEAD || value[0] != 0) {
      return refused(Fault.BAD_FRAMING);
    }
    int id = 0;
    for (int place = 1; place < HEAD; place++) {
      id = id << Byte.SIZE | value[place] & 0xff;
    }
    Decoder decoder = known.get(id);
    if (decoder == null) {
      return refused(Fault.UNKNOWN_SCHEMA);
    }
    return decoder.decode(Arrays.copyOfRange(value, HEAD, value.length));
  }
}
