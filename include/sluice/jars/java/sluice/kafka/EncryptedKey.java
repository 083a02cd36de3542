package sluice.kafka;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.apache.kafka.common.KafkaException;

/**
 * A private key in PEM that a password protects.
 *
 * <p>Kafka's own reader asks Java for a factory by the name of the scheme, and Java 17 names the one that everybody uses
 * (PBES2) by its family, for which there is none. Its parameters know the algorithm.
 */
final class EncryptedKey {
  private static final String FAMILY = "PBES2";
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ENCRYPTED PRIVATE KEY-----(.+?)-----END ENCRYPTED PRIVATE KEY-----", Pattern.DOTALL);

  private EncryptedKey() {}

  /** Returns the key without its password, in PEM; a text without an encrypted key as it is. */
  static String opened(String text, String password) {
    Matcher block = BLOCK.matcher(text);
    if (!block.find()) {
      return text;
    }
    PBEKeySpec secret = new PBEKeySpec(password.toCharArray());
    try {
      EncryptedPrivateKeyInfo key = new EncryptedPrivateKeyInfo(Base64.getMimeDecoder().decode(block.group(1)));
      String scheme = key.getAlgName();
      String algorithm = scheme.equals(FAMILY) ? key.getAlgParameters().toString() : scheme;
      Cipher cipher = Cipher.getInstance(algorithm);
      cipher.init(
          Cipher.DECRYPT_MODE,
          SecretKeyFactory.getInstance(algorithm).generateSecret(secret),
          key.getAlgParameters());
      String plain = Base64.getMimeEncoder().encodeToString(key.getKeySpec(cipher).getEncoded());
      return "-----BEGIN PRIVATE KEY-----\n" + plain + "\n-----END PRIVATE KEY-----\n";
    } catch (IOException | GeneralSecurityException error) {
      throw new KafkaException("The private key of TLS cannot be opened by its password", error);
    } finally {
      secret.clearPassword();
    }
  }
}
