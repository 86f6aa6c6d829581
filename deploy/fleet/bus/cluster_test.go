package bus

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// startCluster starts three servers of one NATS cluster with JetStream and sync_always. It returns
// them, their account, their addresses and a file of credentials.
func startCluster(t *testing.T) (nodes []*server.Server, account, urls, credentials string) {
	t.Helper()
	a := newAuthority(t)
	k := keysOf(t, a)
	accountJWT, err := k.AccountJWT()
	if err != nil {
		t.Fatal(err)
	}
	system, systemJWT, err := k.System()
	if err != nil {
		t.Fatal(err)
	}
	// An address of its own: others listen and dial at 127.0.0.1, and may take a port before its
	// node does.
	host := fmt.Sprintf("127.%d.%d.2", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff)
	var ports []int
	var routes, addresses []string
	for range 3 {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
	}
	for i, port := range ports {
		o := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
			TrustedKeys: []string{k.Operator}, AccountResolver: &server.MemAccResolver{}, SystemAccount: system,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, MaxPayload: maxBlob + 1<<20,
			Cluster: server.ClusterOpts{Name: "outside", Host: host, Port: port},
			Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
		}
		if err := o.AccountResolver.Store(k.Account, accountJWT); err != nil {
			t.Fatal(err)
		}
		if err := o.AccountResolver.Store(system, systemJWT); err != nil {
			t.Fatal(err)
		}
		n, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		go n.Start()
		t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
		if !n.ReadyForConnections(time.Minute) {
			t.Fatalf("node %d does not start", i)
		}
		nodes = append(nodes, n)
		addresses = append(addresses, "nats://"+n.Addr().String())
	}
	user, seed, err := k.User()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(user, []byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	credentials = filepath.Join(t.TempDir(), "nats.creds")
	if err := os.WriteFile(credentials, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return nodes, k.Account, strings.Join(addresses, ","), credentials
}

// Fault: A server of an external NATS cluster stops
//
// The hub continues with the two others, and has all that it stored.
func TestCluster(t *testing.T) {
	t.Parallel() // it waits for leaders
	nodes, account, urls, credentials := startCluster(t)
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a), Cluster: urls,
		Credentials: credentials})
	testBus(t, world{s, func(t *testing.T, name string) Rig { return join(t, a, s, name) }})

	b := s.Bucket(State)
	revision := mustPut(t, b, "leader", "before", 0)
	leader := slices.IndexFunc(nodes, func(n *server.Server) bool { return n.JetStreamIsStreamLeader(account, State) })
	if leader < 0 {
		t.Fatalf("%s is not replicated", State)
	}
	nodes[leader].Shutdown()
	deadline := time.Now().Add(time.Minute)
	e, err := b.Get(t.Context(), "leader")
	for ; err != nil && time.Now().Before(deadline); e, err = b.Get(t.Context(), "leader") {
		time.Sleep(50 * time.Millisecond) // until the others have chosen a leader
	}
	if err != nil || string(e.Value) != "before" {
		t.Fatalf("after the stop: %q, %v", e.Value, err)
	}
	mustPut(t, b, "leader", "after", revision)
}
