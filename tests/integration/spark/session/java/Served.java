import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.client.ChunkReceivedCallback;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientBootstrap;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.crypto.AuthClientBootstrap;
import org.apache.spark.network.crypto.AuthServerBootstrap;
import org.apache.spark.network.sasl.SecretKeyHolder;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * Serves one text as a stream and as a chunk, by Spark's own transport, until its input ends.
 *
 * <p>Says its port, and what a client with the server's secret gets: {@code Served true|false ASKS}, the first for
 * Spark's cipher instead of SASL, the second for whether the server asks for a secret.
 */
public final class Served {
  private static final String TEXT = "what strangers should not have";

  private Served() {}

  /** See the class. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> settings =
        Map.of("spark.network.crypto.enabled", arguments[0], "spark.network.crypto.cipher", "AES/GCM/NoPadding");
    TransportConf conf = new TransportConf("rpc", new MapConfigProvider(settings));
    boolean asks = Boolean.parseBoolean(arguments[1]);
    List<TransportServerBootstrap> asking = asks ? List.of(new AuthServerBootstrap(conf, new Secret())) : List.of();
    List<TransportClientBootstrap> known = asks ? List.of(new AuthClientBootstrap(conf, "app", new Secret())) : List.of();
    try (TransportContext context = new TransportContext(conf, new Calls());
        TransportServer server = context.createServer("127.0.0.1", 0, asking);
        TransportClientFactory clients = context.createClientFactory(known);
        TransportClient client = clients.createClient("127.0.0.1", server.getPort())) {
      CompletableFuture<String> got = new CompletableFuture<>();
      client.fetchChunk(
          1,
          0,
          new ChunkReceivedCallback() {
            @Override
            public void onSuccess(int index, ManagedBuffer chunk) {
              try {
                got.complete(StandardCharsets.UTF_8.decode(chunk.nioByteBuffer()).toString());
              } catch (java.io.IOException unread) {
                got.completeExceptionally(unread);
              }
            }

            @Override
            public void onFailure(int index, Throwable why) {
              got.completeExceptionally(why);
            }
          });
      System.out.println(server.getPort() + " " + got.get(30, TimeUnit.SECONDS));
      System.in.read();
    }
  }

  /** What both sides have. */
  private static final class Secret implements SecretKeyHolder {
    @Override
    public String getSaslUser(String application) {
      return "user";
    }

    @Override
    public String getSecretKey(String application) {
      return "correct horse";
    }
  }

  /** Hands the text to everybody who asks in any way. */
  private static final class Calls extends RpcHandler {
    @Override
    public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
      callback.onSuccess(ByteBuffer.wrap(TEXT.getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    public StreamManager getStreamManager() {
      return new StreamManager() {
        @Override
        public ManagedBuffer getChunk(long stream, int index) {
          return new NioManagedBuffer(ByteBuffer.wrap(TEXT.getBytes(StandardCharsets.UTF_8)));
        }

        @Override
        public ManagedBuffer openStream(String stream) {
          return getChunk(0, 0);
        }
      };
    }
  }
}
