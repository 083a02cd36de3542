package sluice.decoding;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The declared fields of a Protobuf message. All of a record is read, declared or not. */
final class ProtobufDecoder extends MessageDecoder {
  private static final long serialVersionUID = 1;

  private final String declaration;

  private transient ProtobufMessage message;
  private transient ProtobufValues values;
  private transient ProtobufBytes bytes;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   * @param layout what the message's bytes mean, as JSON
   * @param framed whether the place of the message in its file comes first
   */
  ProtobufDecoder(StructType fields, String declaration, String layout, boolean framed) {
    super(fields, layout, framed);
    this.declaration = declaration;
  }

  @Override
  InternalRow decode(byte[] value, int from) {
    ProtobufNode node;
    try {
      node = bytes.read(value, from, message);
    } catch (IOException broken) {
      return refused(Fault.MALFORMED, bytes.malformed());
    }
    Object[] row = values.read(node);
    if (bytes.notFinite() != null) {
      return row(row, Fault.NOT_FINITE, bytes.notFinite());
    }
    String wrong = bytes.wrongType() == null ? values.wrongType() : bytes.wrongType();
    return row(row, wrong == null ? null : Fault.WRONG_TYPE, wrong);
  }

  @Override
  void prepare(ProtobufMessage type) {
    values = new ProtobufValues(Declared.all(Declared.parsed(declaration).get("fields"), ""), type);
    bytes = new ProtobufBytes();
    message = type;
  }
}
