package peers;

import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The delay of each flight that has departed, record by record, until it is killed.
 *
 * <p>Usage: Delays bootstrap topic results folder
 *
 * <p>The defaults of Kafka Streams (at least once) and two threads; its producer sends at once, where Kafka Streams
 * alone would let it wait 100 ms for more.
 */
final class Delays {
  private Delays() {}

  /** Run. */
  public static void main(String[] arguments) throws InterruptedException {
    KafkaStreams streams =
        new KafkaStreams(topology(arguments[1], arguments[2]), configuration(arguments[0], arguments[3]));
    CountDownLatch ended = new CountDownLatch(1);
    streams.setUncaughtExceptionHandler(
        fault -> {
          fault.printStackTrace();
          ended.countDown();
          return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
    ended.await();
    System.exit(1);
  }

  private static Properties configuration(String bootstrap, String folder) {
    Properties all = new Properties();
    all.put(StreamsConfig.APPLICATION_ID_CONFIG, "peers-delays");
    all.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    all.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    all.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    all.put(StreamsConfig.producerPrefix("linger.ms"), 0);
    return all;
  }

  private static Topology topology(String topic, String results) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(topic, Consumed.with(Serdes.ByteArray(), Json.reading(Flight.class)))
        .filter((key, flight) -> flight.departed())
        .mapValues(Flight::delay)
        .map((key, delay) -> KeyValue.pair(Json.write(new Flight.Key(delay.flight_id())), Json.write(delay)))
        .to(results, Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
    return builder.build();
  }
}
