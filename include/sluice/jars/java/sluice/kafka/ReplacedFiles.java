package sluice.kafka;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import javax.net.ssl.SSLEngine;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS of Kafka's clients by files in PEM that may be replaced while a client runs: its next connection uses the new ones.
 *
 * <p>Kafka's own clients read their files once, when they are made, and those of a stream live as long as its driver. The
 * settings have the names that librdkafka and Python's client know: {@code ssl.ca.location},
 * {@code ssl.certificate.location} and {@code ssl.key.location}, without which the key is in the certificate's file.
 * Files that cannot be used leave those of before in force, and are tried again with the next connection.
 */
public final class ReplacedFiles implements SslEngineFactory {
  private static final Logger LOG = LoggerFactory.getLogger(ReplacedFiles.class);
  private static final String KEY_PASSWORD = "ssl.key.password";
  private static final String PEM = DefaultSslEngineFactory.PEM_TYPE;

  private final HashMap<String, Object> settings = new HashMap<>();
  private DefaultSslEngineFactory current;
  private List<List<Object>> read = List.of();

  /** Made by Kafka's clients, by reflection, for {@code ssl.engine.factory.class}. */
  public ReplacedFiles() {}

  @Override
  public synchronized void configure(Map<String, ?> configs) {
    settings.putAll(configs);
    try {
      renew();
    } catch (IOException error) {
      throw new KafkaException("The files of TLS cannot be read: " + error, error);
    }
  }

  @Override
  public synchronized SSLEngine createClientSslEngine(String host, int port, String identification) {
    try {
      if (!stamps().equals(read)) {
        renew();
        LOG.info("The files of TLS were replaced, and are used from now on");
      }
    } catch (IOException | KafkaException error) {
      LOG.warn("The files of TLS were replaced and cannot be used, so those of before are: {}", error.toString());
    }
    return current.createClientSslEngine(host, port, identification);
  }

  @Override
  public synchronized SSLEngine createServerSslEngine(String host, int port) {
    return current.createServerSslEngine(host, port);
  }

  @Override
  public boolean shouldBeRebuilt(Map<String, Object> next) {
    return false;
  }

  @Override
  public Set<String> reconfigurableConfigs() {
    return Set.of();
  }

  @Override
  public synchronized KeyStore keystore() {
    return current.keystore();
  }

  @Override
  public synchronized KeyStore truststore() {
    return current.truststore();
  }

  @Override
  public synchronized void close() {
    current.close();
  }

  private void renew() throws IOException {
    List<List<Object>> seen = stamps(); // before they are read: what is replaced meanwhile is read once more
    HashMap<String, Object> content = new HashMap<>(settings);
    Path authorities = file("ssl.ca.location");
    if (authorities != null) {
      content.put("ssl.truststore.type", PEM);
      content.put("ssl.truststore.certificates", text(authorities));
    }
    Path certificate = file("ssl.certificate.location");
    if (certificate != null) {
      Path key = file("ssl.key.location");
      content.put("ssl.keystore.type", PEM);
      content.put("ssl.keystore.certificate.chain", text(certificate));
      content.put("ssl.keystore.key", opened(text(key == null ? certificate : key)));
      content.remove(KEY_PASSWORD);
    }
    DefaultSslEngineFactory next = new DefaultSslEngineFactory();
    next.configure(content);
    current = next;
    read = seen;
  }

  private Path file(String setting) {
    Object value = settings.get(setting);
    return value == null ? null : Path.of(value.toString());
  }

  private Password opened(Password key) {
    Object password = settings.get(KEY_PASSWORD);
    return password == null ? key : new Password(EncryptedKey.opened(key.value(), ((Password) password).value()));
  }

  private static Password text(Path file) throws IOException {
    return new Password(Files.readString(file));
  }

  /** By what each file shows that it is another one. */
  private List<List<Object>> stamps() throws IOException {
    List<Path> files =
        Stream.of("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")
            .map(this::file)
            .filter(Objects::nonNull)
            .toList();
    List<List<Object>> stamps = new ArrayList<>();
    for (Path file : files) {
      BasicFileAttributes seen = Files.readAttributes(file, BasicFileAttributes.class);
      stamps.add(List.of(seen.lastModifiedTime(), seen.size(), String.valueOf(seen.fileKey())));
    }
    return stamps;
  }
}
