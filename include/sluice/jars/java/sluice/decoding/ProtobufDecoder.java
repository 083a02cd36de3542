package sluice.decoding;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.CodedInputStream;

/** Records of one Protobuf message. All of a record is read, declared or not. */
final class ProtobufDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String declaration;
  private final String layout;
  private final boolean framed;

  private transient ProtobufMessage message;
  private transient ProtobufValues values;
  private transient ProtobufBytes bytes;
  private transient int[] path;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   * @param layout what the message's bytes mean, as JSON
   * @param framed whether the place of the message in its file comes first
   */
  ProtobufDecoder(StructType fields, String declaration, String layout, boolean framed) {
    super(fields);
    this.declaration = declaration;
    this.layout = layout;
    this.framed = framed;
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    if (message == null) {
      prepare();
    }
    int from = 0;
    if (framed) {
      CodedInputStream head = CodedInputStream.newInstance(value);
      try {
        if (!isOfTheMessage(head, value.length)) {
          return row(null, Fault.UNKNOWN_SCHEMA, UTF8String.fromString("another message of the file"));
        }
      } catch (IOException broken) {
        return row(null, Fault.BAD_FRAMING, UTF8String.fromString("no place of a message behind the schema id"));
      }
      from = head.getTotalBytesRead();
    }
    return from == value.length ? refused(Fault.EMPTY) : decoded(value, from);
  }

  private InternalRow decoded(byte[] value, int from) {
    ProtobufNode node;
    try {
      node = bytes.read(value, from, message);
    } catch (IOException broken) {
      return row(null, Fault.MALFORMED, text(bytes.malformed()));
    }
    Object[] row = values.read(node);
    if (bytes.notFinite() != null) {
      return row(new GenericInternalRow(row), Fault.NOT_FINITE, text(bytes.notFinite()));
    }
    String wrong = bytes.wrongType() == null ? values.wrongType() : bytes.wrongType();
    return row(new GenericInternalRow(row), wrong == null ? null : Fault.WRONG_TYPE, text(wrong));
  }

  /** Whether the place in front of a message is that of the one that is declared; one zero stands for the first. */
  private boolean isOfTheMessage(CodedInputStream head, int most) throws IOException {
    long count = head.readSInt64();
    if (count < 0 || count > most) {
      throw new IOException();
    }
    int[] found = new int[count == 0 ? 1 : (int) count];
    for (int i = 0; i < count; i++) {
      found[i] = head.readSInt32();
    }
    return Arrays.equals(found, path);
  }

  private static UTF8String text(String said) {
    return said == null ? null : UTF8String.fromString(said);
  }

  private void prepare() {
    JsonNode said = Declared.parsed(layout);
    ProtobufMessage root = ProtobufMessage.root(said);
    path = new int[said.get("path").size()];
    for (int i = 0; i < path.length; i++) {
      path[i] = said.get("path").get(i).intValue();
    }
    values = new ProtobufValues(Declared.all(Declared.parsed(declaration).get("fields"), ""), root);
    bytes = new ProtobufBytes();
    message = root;
  }
}
