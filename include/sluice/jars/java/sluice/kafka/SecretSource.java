package sluice.kafka;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a secret is that may be another one later: a file, or a command that prints it.
 *
 * <p>The setting is {@code NAME_FILE=path} or {@code NAME_COMMAND=words}, which are quoted for a shell. What holds for
 * files and commands is what Python's side holds them to ({@code sluice.secrecy.secret_values}). No message quotes the
 * secret or the command.
 */
final class SecretSource {
  private static final Logger LOG = LoggerFactory.getLogger(SecretSource.class);
  private static final String SETTING = "sluice.login.source";
  private static final int MAX_BYTES = 64 * 1024;
  private static final long COMMAND_SECONDS = 20;

  private final String form;
  private final String where;
  private String last;

  private SecretSource(String form, String where) {
    this.form = form;
    this.where = where;
  }

  /** Returns the source that a client's settings name. */
  static SecretSource in(Map<String, ?> configs) {
    String[] parts = configs.get(SETTING).toString().split("=", 2);
    return new SecretSource(parts[0], parts[1]);
  }

  /** Returns the secret as it is now; if it cannot be had, the last one, and before there was any, the given one. */
  synchronized String now(String first) {
    try {
      last = text(form.endsWith("_FILE") ? ofFile() : printed());
    } catch (IOException error) {
      LOG.warn("{}: the newest secret cannot be had, so the one before is used: {}", form, error.toString());
    }
    return last == null ? first : last;
  }

  private static String text(byte[] found) throws IOException {
    if (found.length > MAX_BYTES) {
      throw new IOException("it is longer than 64 KiB");
    }
    String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(found)).toString();
    String secret = text.replaceFirst("[\\r\\n]+$", "");
    if (secret.isEmpty()) {
      throw new IOException("it is empty");
    }
    return secret;
  }

  private byte[] ofFile() throws IOException {
    Path file = Path.of(where);
    if (!Files.isRegularFile(file)) {
      throw new IOException(file + " is no regular file");
    }
    try (InputStream stream = Files.newInputStream(file)) {
      return stream.readNBytes(MAX_BYTES + 1);
    }
  }

  private byte[] printed() throws IOException {
    Process process =
        new ProcessBuilder("/bin/sh", "-c", "exec " + where)
            .redirectInput(new File("/dev/null"))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      byte[] found = CompletableFuture.supplyAsync(() -> output(process)).get(COMMAND_SECONDS, TimeUnit.SECONDS);
      if (found.length <= MAX_BYTES && process.waitFor() != 0) {
        throw new IOException("the command ended with exit code " + process.exitValue());
      }
      return found;
    } catch (TimeoutException error) {
      throw new IOException("the command has not ended within " + COMMAND_SECONDS + " s", error);
    } catch (ExecutionException error) {
      throw new IOException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException(error);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  private static byte[] output(Process process) {
    try {
      return process.getInputStream().readNBytes(MAX_BYTES + 1);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
