package sluice.decoding;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What a session of Sluice has beside Spark's own functions ({@code spark.sql.extensions}). */
public final class Functions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions session) {
    inject(session, "sluice_from_json", new FromText(JsonDecoder::new));
    inject(session, "sluice_from_lines", new FromText(LineDecoder::new));
    inject(session, "sluice_from_avro", new FromAvro());
    inject(session, "sluice_from_protobuf", new FromProtobuf());
    inject(session, "sluice_protobuf_fields", new ProtobufFields());
    return BoxedUnit.UNIT;
  }

  private static void inject(
      SparkSessionExtensions session, String name, AbstractFunction1<Seq<Expression>, Expression> function) {
    ExpressionInfo info = new ExpressionInfo(Functions.class.getName(), name);
    session.injectFunction(new Tuple3<>(new FunctionIdentifier(name), info, function));
  }

  /** {@code sluice_from_json(value, schema, declaration[, id, ...])}: bytes, columns, what is declared, ids of frames. */
  private static final class FromText extends AbstractFunction1<Seq<Expression>, Expression> {
    private final BiFunction<StructType, String, Decoder> made;

    FromText(BiFunction<StructType, String, Decoder> made) {
      this.made = made;
    }

    @Override
    public Expression apply(Seq<Expression> arguments) {
      StructType fields = fields(arguments);
      Decoder decoder = made.apply(fields, text(arguments, 2));
      Map<Integer, Decoder> framed = new HashMap<>();
      for (int i = 3; i < arguments.length(); i++) {
        framed.put(Integer.valueOf(text(arguments, i)), decoder);
      }
      return call(framed.isEmpty() ? decoder : new FramedDecoder(fields, framed), arguments.apply(0));
    }
  }

  /** {@code sluice_from_avro(value, schema, declaration, writer)}, or {@code (…, id, writer, ...)} of frames. */
  private static final class FromAvro extends AbstractFunction1<Seq<Expression>, Expression> {
    @Override
    public Expression apply(Seq<Expression> arguments) {
      return underSchemas(
          arguments, (fields, declaration, written, framed) -> new AvroDecoder(fields, declaration, written));
    }
  }

  /** {@code sluice_from_protobuf(value, schema, declaration, layout)}, or {@code (…, id, layout, ...)} of frames. */
  private static final class FromProtobuf extends AbstractFunction1<Seq<Expression>, Expression> {
    @Override
    public Expression apply(Seq<Expression> arguments) {
      return underSchemas(arguments, ProtobufDecoder::new);
    }
  }

  /** Makes the decoder of what was written under one schema. */
  private interface UnderSchema {
    Decoder decoder(StructType fields, String declaration, String written, boolean framed);
  }

  private static Expression underSchemas(Seq<Expression> arguments, UnderSchema made) {
    StructType fields = fields(arguments);
    String declaration = text(arguments, 2);
    Map<Integer, Decoder> framed = new HashMap<>();
    for (int i = 3; i + 1 < arguments.length(); i += 2) {
      framed.put(Integer.valueOf(text(arguments, i)), made.decoder(fields, declaration, text(arguments, i + 1), true));
    }
    Decoder decoder =
        framed.isEmpty()
            ? made.decoder(fields, declaration, text(arguments, 3), false)
            : new FramedDecoder(fields, framed);
    return call(decoder, arguments.apply(0));
  }

  /** {@code sluice_protobuf_fields(value, layout)}, or {@code (value, id, layout, ...)} of frames. */
  private static final class ProtobufFields extends AbstractFunction1<Seq<Expression>, Expression> {
    @Override
    public Expression apply(Seq<Expression> arguments) {
      if (arguments.length() == 2) {
        return call(new PresentFields(text(arguments, 1), false), arguments.apply(0));
      }
      Map<Integer, Decoder> framed = new HashMap<>();
      for (int i = 1; i + 1 < arguments.length(); i += 2) {
        framed.put(Integer.valueOf(text(arguments, i)), new PresentFields(text(arguments, i + 1), true));
      }
      return call(new FramedDecoder(PresentFields.COLUMNS, framed), arguments.apply(0));
    }
  }

  private static StructType fields(Seq<Expression> arguments) {
    return (StructType) DataType.fromJson(text(arguments, 1));
  }

  private static String text(Seq<Expression> arguments, int place) {
    return arguments.apply(place).eval(null).toString();
  }

  /** As Spark calls its own evaluators: compiled into the stage, without a conversion. */
  private static Expression call(Decoder decoder, Expression bytes) {
    Expression target = Literal.create(decoder, new ObjectType(Decoder.class));
    Seq<AbstractDataType> types = sequence(DataTypes.BinaryType);
    return new Invoke(target, "decode", decoder.type(), sequence(bytes), types, false, false, true);
  }

  private static <T> Seq<T> sequence(T only) {
    return CollectionConverters.asScala(List.of(only)).toSeq();
  }
}
