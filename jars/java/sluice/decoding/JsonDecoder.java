package sluice.decoding;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's own parser of JSON, so that values are what {@code from_json} gives, over a reader that is watched. */
final class JsonDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private static final java.util.Map<String, String> STRICT = java.util.Map.of("allowSingleQuotes", "false");

  private transient JacksonParser json;
  private transient WatchedJson watched;
  private transient int[] doubles;

  JsonDecoder(StructType fields) {
    super(fields);
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    int first = firstCharacter(value);
    if (first == value.length) {
      return refused(Fault.EMPTY);
    }
    // A zero at the second place would make the reader guess another encoding.
    if (value[first] != '{' || (value.length > 1 && value[1] == 0) || !isUtf8(value)) {
      return refused(Fault.MALFORMED);
    }
    if (json == null) {
      prepare();
    }
    InternalRow row;
    boolean wrongType = false;
    try {
      row = parsed(value);
    } catch (BadRecordException bad) {
      InternalRow[] partial = bad.partialResults().apply();
      row = partial.length == 0 ? null : partial[0];
      wrongType = true;
    }
    UTF8String fault = watched.fault();
    if (fault == Fault.MALFORMED) {
      return refused(fault);
    }
    if (fault == null && row != null && hasNonFinite(row)) {
      fault = Fault.NOT_FINITE;
    }
    return row(row, fault == null && wrongType ? Fault.WRONG_TYPE : fault);
  }

  /** Spark declares nothing: it is Scala that throws. */
  private InternalRow parsed(byte[] value) throws BadRecordException {
    return json.parse(value, this::open, UTF8String::fromBytes).head();
  }

  private void prepare() {
    Map<String, String> strict = Map$.MODULE$.from(CollectionConverters.asScala(STRICT));
    Seq<Filter> none = CollectionConverters.asScala(List.<Filter>of()).toSeq();
    json = new JacksonParser(fields(), new JSONOptions(strict, "UTC", ""), false, none);
    Set<String> names = new HashSet<>();
    Set<String> times = new HashSet<>();
    for (StructField field : fields().fields()) {
      names.add(field.name());
      if (field.dataType().equals(DataTypes.TimestampType)) {
        times.add(field.name());
      }
    }
    watched = new WatchedJson(names, times);
    StructField[] all = fields().fields();
    doubles = IntStream.range(0, all.length).filter(i -> all[i].dataType().equals(DataTypes.DoubleType)).toArray();
  }

  private JsonParser open(JsonFactory factory, byte[] value) {
    try {
      return watched.watch(factory.createParser(value), mayEscapeSurrogates(value));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private boolean hasNonFinite(InternalRow row) {
    for (int field : doubles) {
      if (!row.isNullAt(field) && !Double.isFinite(row.getDouble(field))) {
        return true;
      }
    }
    return false;
  }

  private static int firstCharacter(byte[] value) {
    int place = 0;
    while (place < value.length && isBlank(value[place])) {
      place++;
    }
    return place;
  }

  private static boolean isBlank(byte character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
  }

  private static boolean isUtf8(byte[] value) {
    int all = 0;
    for (byte part : value) {
      all |= part;
    }
    return all >= 0 || UTF8String.fromBytes(value).isValid();
  }

  private static boolean mayEscapeSurrogates(byte[] value) {
    for (int i = 0; i < value.length - 2; i++) {
      if (value[i] == '\\' && value[i + 1] == 'u' && (value[i + 2] | ' ') == 'd') {
        return true;
      }
    }
    return false;
  }
}
