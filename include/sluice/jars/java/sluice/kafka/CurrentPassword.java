package sluice.kafka;

import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.authenticator.SaslClientCallbackHandler;

/**
 * A login by PLAIN or SCRAM whose password may change while a client runs: each connection reads it where it is.
 *
 * <p>Kafka's own clients know the password with which they were made, and those of a stream live as long as its driver.
 */
public final class CurrentPassword implements AuthenticateCallbackHandler {
  private final SaslClientCallbackHandler kafkas = new SaslClientCallbackHandler();
  private SecretSource source;

  /** Made by Kafka's clients, by reflection, for {@code sasl.client.callback.handler.class}. */
  public CurrentPassword() {}

  @Override
  public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
    kafkas.configure(configs, mechanism, entries);
    source = SecretSource.in(configs);
  }

  @Override
  public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
    kafkas.handle(callbacks);
    for (Callback callback : callbacks) {
      if (callback instanceof PasswordCallback asked) {
        asked.setPassword(source.now(new String(asked.getPassword())).toCharArray());
      }
    }
  }

  @Override
  public void close() {
    kafkas.close();
  }
}
