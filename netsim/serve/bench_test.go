package serve

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

const (
	benchConnections = 8
	benchBody        = 4 << 20
	benchRound       = 150 * time.Millisecond
)

// BenchmarkBesideNginx compares fetching the same body from memory here and from the page cache by
// nginx. It alternates, uses several loopback connections, and compares medians. The same program
// fetches both, and takes its share of the processors.
func BenchmarkBesideNginx(b *testing.B) {
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			b.Skip("nginx is not installed: apt-get install nginx-light")
		}
	}
	big := slices.Repeat([]byte("eideticker"), benchBody/10)
	p, err := NewPages(fstest.MapFS{"big.bin": {Data: big}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		name := "http"
		if secure {
			name = "https"
		}
		b.Run("protocol="+name, func(b *testing.B) {
			ours, blind := serveIt(b, Options{Handler: p}), serveIt(b, Options{Handler: p, Blind: true})
			theirs := startNginx(b, nginx, big, ours.options.Authority)
			var rates [3][]float64
			for b.Loop() {
				for i, at := range []string{ours.address(secure), theirs[secure], blind.address(secure)} {
					rates[i] = append(rates[i], fetch(b, at, secure, len(big)))
				}
			}
			var medians [3]float64
			for i, r := range rates {
				slices.Sort(r)
				medians[i] = r[len(r)/2]
			}
			b.ReportMetric(medians[0], "Gbit/s")
			b.ReportMetric(medians[1], "nginx-Gbit/s")
			b.ReportMetric(medians[0]/medians[1], "of-nginx")
			b.ReportMetric(medians[0]/medians[2], "of-unwitnessed")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func (x *served) address(secure bool) string {
	if secure {
		return x.https
	}
	return x.http
}

// fetch returns how fast bodies come over several connections at once, Gbit/s.
func fetch(b *testing.B, address string, secure bool, size int) float64 {
	b.Helper()
	var all sync.WaitGroup
	begin := make(chan struct{})
	counts := make([]int, benchConnections)
	var failed sync.Once
	for i := range benchConnections {
		c, err := net.Dial("tcp", address)
		if err == nil && secure {
			t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: "page.test",
				NextProtos: []string{"http/1.1"}})
			err, c = t.Handshake(), t
		}
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			in := bufio.NewReaderSize(c, 64<<10)
			<-begin
			for since := time.Now(); time.Since(since) < benchRound; {
				_, err := io.WriteString(c, "GET /big.bin HTTP/1.1\r\nHost: page.test\r\n\r\n")
				var r *http.Response
				if err == nil {
					r, err = http.ReadResponse(in, nil)
				}
				n := int64(0)
				if err == nil {
					n, err = io.Copy(discard{}, r.Body)
				}
				if err != nil || n != int64(size) {
					failed.Do(func() { b.Errorf("%d bytes of %d, %v", n, size, err) })
					return
				}
				counts[i] += int(n)
			}
		})
	}
	began := time.Now()
	close(begin)
	all.Wait()
	took := time.Since(began).Seconds()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) * 8 / took / 1e9
}

// discard takes more at once than io.Discard does.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (discard) ReadFrom(r io.Reader) (n int64, err error) {
	b := make([]byte, 256<<10)
	for {
		m, err := r.Read(b)
		n += int64(m)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// startNginx runs nginx with a file, and returns where it listens, without TLS and with it.
func startNginx(b *testing.B, program string, body []byte, a *Authority) map[bool]string {
	b.Helper()
	dir := b.TempDir()
	cert, err := a.Certificate("page.test")
	if err != nil {
		b.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		b.Fatal(err)
	}
	at := map[bool]string{}
	for _, secure := range []bool{false, true} {
		l := listen(b) // a port that is free
		at[secure] = l.Addr().String()
		l.Close()
	}
	conf := fmt.Sprintf(`daemon off; master_process on; worker_processes auto; pid nginx.pid; error_log stderr;
%s
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; open_file_cache max=10;
  default_type application/octet-stream;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {
    listen %s; listen %s ssl; root %s; ssl_certificate cert.pem; ssl_certificate_key key.pem;
  }
}`, map[bool]string{true: "user root;"}[os.Geteuid() == 0], at[false], at[true], dir)
	for name, text := range map[string][]byte{
		"nginx.conf": []byte(conf), "big.bin": body,
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // its workers end with it
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", at[true])
		if err == nil {
			c.Close()
			return at
		}
		if time.Now().After(deadline) {
			b.Fatal("nginx does not listen: ", said.String())
		}
	}
}

// BenchmarkRequest is what a small response costs, with the witness and without.
func BenchmarkRequest(b *testing.B) {
	p, err := NewPages(fstest.MapFS{"small.txt": {Data: []byte("small")}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, protocol := range protocols {
		for _, blind := range []bool{false, true} {
			b.Run(fmt.Sprintf("protocol=%s/witness=%v", strings.ReplaceAll(protocol, "/", ""), !blind),
				func(b *testing.B) {
					x := serveIt(b, Options{Handler: p, Blind: blind})
					c, root := x.client(b, protocol)
					get(b, c, root+"/small.txt")
					b.ReportAllocs()
					for b.Loop() {
						get(b, c, root+"/small.txt")
					}
				})
		}
	}
}
