package sluice.network;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCountUtil;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.apache.spark.network.protocol.RpcRequest;
import org.apache.spark.network.server.AbstractAuthRpcHandler;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.TransportChannelHandler;
import org.apache.spark.network.server.TransportRequestHandler;

/**
 * Refuses every request to a server of Spark's that comes before the other side has authenticated.
 *
 * <p>With {@code spark.authenticate}, Spark asks for the secret where a call arrives, and nowhere else: a request for a
 * stream (a jar, a file, a block) goes another way, and is answered to everybody. Netty calls this for each connection
 * that a server accepts, in a JVM with {@code -Dio.netty.bootstrap.extensions=serviceload}.
 */
public final class AuthenticationFirst extends ChannelInitializerExtension {
  /** Made by Netty, by its name in {@code META-INF/services}. */
  public AuthenticationFirst() {}

  /** Nothing here may fail: Netty would warn, and serve the connection all the same. */
  @Override
  public void postInitializeServerChildChannel(Channel accepted) {
    accepted.pipeline().addLast(new Placement());
  }

  /** Runs after Spark has set its handlers up; if it fails, the connection ends. */
  private static final class Placement extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel accepted) {
      TransportChannelHandler requests = accepted.pipeline().get(TransportChannelHandler.class);
      // Other servers are none of Spark's, and without `spark.authenticate` there is nobody to ask.
      if (requests != null && Door.behind(requests) instanceof AbstractAuthRpcHandler login) {
        String name = accepted.pipeline().context(requests).name();
        accepted.pipeline().addBefore(name, "authenticationFirst", new Door(login));
      }
    }
  }

  /** Lets in what belongs to the handshake, which is a call, and everything once that has succeeded. */
  private static final class Door extends ChannelInboundHandlerAdapter {
    private static final VarHandle CALLS = calls();
    private final AbstractAuthRpcHandler login;

    Door(AbstractAuthRpcHandler login) {
      this.login = login;
    }

    static RpcHandler behind(TransportChannelHandler requests) {
      return (RpcHandler) CALLS.get(requests.getRequestHandler());
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (message instanceof RpcRequest || login.isAuthenticated()) {
        context.fireChannelRead(message);
        return;
      }
      ReferenceCountUtil.release(message);
      context.close();
    }

    /** Spark keeps nowhere else who answers calls, and so whether the other side has authenticated. */
    private static VarHandle calls() {
      try {
        MethodHandles.Lookup spark =
            MethodHandles.privateLookupIn(TransportRequestHandler.class, MethodHandles.lookup());
        return spark.findVarHandle(TransportRequestHandler.class, "rpcHandler", RpcHandler.class);
      } catch (ReflectiveOperationException missing) {
        throw new ExceptionInInitializerError(missing);
      }
    }
  }
}
