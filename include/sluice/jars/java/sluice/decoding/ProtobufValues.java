package sluice.decoding;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of declared fields from the message of one record, and the first one that does not read as its type. */
final class ProtobufValues {
  private static final long MICROS = 1_000_000;
  private static final long NANOS = 1_000_000_000;
  /** Seconds of the years 1 to 9999, which are all that a Timestamp may be of. */
  private static final long FIRST = -62_135_596_800L;

  private static final long LAST = 253_402_300_799L;

  private final Column[] columns;
  private String wrongType;

  /** A declared field, and the way to it; of a message that does not have it the way is null. */
  private record Column(Declared declared, ProtobufMessage.Field[] way, Column[] inner, Column entry) {
    ProtobufMessage.Field field() {
      return way[way.length - 1];
    }
  }

  ProtobufValues(Declared[] declared, ProtobufMessage message) {
    columns = columns(declared, message);
  }

  String wrongType() {
    return wrongType;
  }

  Object[] read(ProtobufNode node) {
    wrongType = null;
    return row(columns, node);
  }

  private static Column[] columns(Declared[] declared, ProtobufMessage message) {
    Column[] found = new Column[declared.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = column(declared[i], way(declared[i].path, message));
    }
    return found;
  }

  private static ProtobufMessage.Field[] way(String[] names, ProtobufMessage message) {
    ProtobufMessage.Field[] way = new ProtobufMessage.Field[names.length];
    ProtobufMessage at = message;
    for (int i = 0; i < way.length; i++) {
      way[i] = at == null ? null : at.field(names[i]);
      if (way[i] == null || way[i].repeated && i < way.length - 1) {
        return null;
      }
      at = way[i].inside;
    }
    return way;
  }

  private static Column column(Declared declared, ProtobufMessage.Field[] way) {
    if (way == null) {
      return new Column(declared, null, null, null);
    }
    for (ProtobufMessage.Field field : way) {
      field.wanted = true;
    }
    ProtobufMessage.Field field = way[way.length - 1];
    Column entry = null;
    if (declared.entry != null && field.repeated) {
      ProtobufMessage.Field single = field.isMap() ? field.inside.field("value") : field;
      entry = column(declared.entry, new ProtobufMessage.Field[] {single});
    }
    if (field.isMap()) {
      field.inside.field("key").wanted = true;
    }
    if (field.inside != null && field.inside.name.equals(ProtobufMessage.TIMESTAMP)) {
      field.inside.fields.forEach(part -> part.wanted = true);
    }
    boolean object = declared.kind == Declared.Kind.OBJECT && field.inside != null;
    return new Column(declared, way, object ? columns(declared.fields, field.inside) : null, entry);
  }

  private Object[] row(Column[] all, ProtobufNode node) {
    Object[] row = new Object[all.length];
    for (int i = 0; i < row.length; i++) {
      row[i] = all[i].way == null ? null : value(all[i], node);
    }
    return row;
  }

  private Object value(Column column, ProtobufNode node) {
    ProtobufNode at = node;
    for (int i = 0; i < column.way.length - 1; i++) {
      at = (ProtobufNode) at.get(column.way[i]);
      if (at == null) {
        return null;
      }
    }
    ProtobufMessage.Field field = column.field();
    Object found = at.get(field);
    if (field.repeated) {
      boolean fits = column.declared.kind == (field.isMap() ? Declared.Kind.MAP : Declared.Kind.ARRAY);
      return !fits ? refuse(column, found) : field.isMap() ? map(column, (Map<?, ?>) found) : list(column, (List<?>) found);
    }
    if (found == null && !field.implicit) {
      return null;
    }
    return single(column, found == null ? field.zero() : found);
  }

  private GenericArrayData list(Column column, List<?> found) {
    Object[] values = new Object[found == null ? 0 : found.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = single(column.entry, found.get(i));
    }
    return new GenericArrayData(values);
  }

  private ArrayBasedMapData map(Column column, Map<?, ?> found) {
    ProtobufMessage.Field key = column.field().inside.field("key");
    List<Object> keys = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    for (Map.Entry<?, ?> each : found == null ? Map.<Object, Object>of().entrySet() : found.entrySet()) {
      boolean unsigned = key.type.isUnsigned64();
      String text = unsigned ? Long.toUnsignedString((Long) each.getKey()) : each.getKey().toString();
      keys.add(UTF8String.fromString(text));
      Object value = each.getValue();
      values.add(single(column.entry, value == null ? column.entry.field().zero() : value));
    }
    return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
  }

  private Object single(Column column, Object found) {
    Object value = convert(column, column.field().type, found);
    return value == null ? refuse(column, found) : value;
  }

  private Object convert(Column column, ProtobufMessage.Type type, Object found) {
    Declared declared = column.declared;
    return switch (declared.kind) {
      case STRING -> type == ProtobufMessage.Type.ENUM ? column.field().symbols.get(found) : text(type, found);
      case LONG -> whole(type, found);
      case INTEGER -> Texts.narrow(whole(type, found));
      case DOUBLE -> real(type, found);
      case DECIMAL -> decimal(declared, type, found);
      case BOOLEAN -> found instanceof Boolean ? found : null;
      case TIMESTAMP -> instant(column, type, found);
      case DATE -> type == ProtobufMessage.Type.STRING ? Texts.date(declared, found.toString()) : null;
      case BINARY -> found instanceof byte[] ? found : null;
      case OBJECT -> column.inner == null ? null : new GenericInternalRow(row(column.inner, (ProtobufNode) found));
      default -> null;
    };
  }

  private static Object text(ProtobufMessage.Type type, Object found) {
    return type == ProtobufMessage.Type.STRING ? found : null;
  }

  private static Long whole(ProtobufMessage.Type type, Object found) {
    return type.isWhole() && !(type.isUnsigned64() && (Long) found < 0) ? (Long) found : null;
  }

  private static Double real(ProtobufMessage.Type type, Object found) {
    if (!type.isWhole()) {
      return type.isReal() ? (Double) found : null;
    }
    return type.isUnsigned64() ? Double.valueOf(Long.toUnsignedString((Long) found)) : (double) (Long) found;
  }

  private static Object decimal(Declared declared, ProtobufMessage.Type type, Object found) {
    if (type == ProtobufMessage.Type.STRING) {
      return Texts.convert(declared, found.toString());
    }
    String digits = type.isUnsigned64() ? Long.toUnsignedString((Long) found) : found.toString();
    return type.isWhole() ? Texts.decimal(declared, digits) : null;
  }

  private static Object instant(Column column, ProtobufMessage.Type type, Object found) {
    Declared declared = column.declared;
    if (declared.unit != null) {
      return Texts.counted(declared, whole(type, found));
    }
    if (type == ProtobufMessage.Type.STRING) {
      return Texts.instant(declared, found.toString());
    }
    ProtobufMessage message = column.field().inside;
    if (message == null || !message.name.equals(ProtobufMessage.TIMESTAMP)) {
      return null;
    }
    Long seconds = (Long) ((ProtobufNode) found).get(message.field("seconds"));
    Long nanos = (Long) ((ProtobufNode) found).get(message.field("nanos"));
    long second = seconds == null ? 0 : seconds;
    long behind = nanos == null ? 0 : nanos;
    boolean known = second >= FIRST && second <= LAST && behind >= 0 && behind < NANOS;
    return known ? Long.valueOf(second * MICROS + behind / (NANOS / MICROS)) : null;
  }

  private Object refuse(Column column, Object found) {
    if (wrongType == null) {
      wrongType = column.declared.where + form(column, column.field().type, found);
    }
    return null;
  }

  private static String form(Column column, ProtobufMessage.Type type, Object found) {
    Declared declared = column.declared;
    boolean counts = declared.kind == Declared.Kind.LONG || declared.unit != null;
    if (type.isWhole() && counts) {
      return " is a number beyond 64 bits";
    }
    if (type.isWhole() && declared.kind == Declared.Kind.INTEGER) {
      return " is a number beyond 32 bits";
    }
    if (type == ProtobufMessage.Type.ENUM && declared.kind == Declared.Kind.STRING) {
      return " is a number that its enum does not name";
    }
    if (found instanceof ProtobufNode && declared.kind == Declared.Kind.TIMESTAMP) {
      return " is no time of the years 1 to 9999";
    }
    boolean local = declared.kind == Declared.Kind.TIMESTAMP && declared.time == null;
    if (local && type == ProtobufMessage.Type.STRING && Instants.isLocal(found.toString())) {
      return " is a time without a zone";
    }
    return " is " + type.words() + ", and no " + declared.wanted();
  }
}
