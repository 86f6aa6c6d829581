package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"time"
)

// secured is a connection with TLS, as handlers of HTTP see it. It is not a [tls.Conn], since
// net/http would start a handshake on one.
type secured struct {
	*tls.Conn
	connection *connection
}

// NetConn and all else is that of the tls.Conn.

// Close ends TLS and the connection.
func (s *secured) Close() error {
	err := s.Conn.Close()
	_ = s.connection.Close() // where the one above did not come so far
	return err
}

// tlsConfig is that of one connection.
func (s *Server) tlsConfig(protocols ...string) *tls.Config {
	return &tls.Config{
		GetCertificate:              s.options.Certificate,
		NextProtos:                  protocols,
		KeyLogWriter:                s.options.KeyLog,
		DynamicRecordSizingDisabled: true, // so that it is known in which record a byte went
	}
}

// secure agrees on TLS with a client and hands the connection on.
func (s *Server) secure(ctx context.Context, c *connection) {
	config := s.tls
	t := tls.Server(c, config)
	_ = c.SetReadDeadline(time.Now().Add(s.options.Patience))
	if err := t.HandshakeContext(ctx); err != nil {
		s.refuseTLS(c, err)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	now := s.clock.Now()
	state := t.ConnectionState()
	protocol := state.NegotiatedProtocol
	if protocol == "" { // the client has not said what it speaks
		if protocol = "http/1.1"; s.options.HTTP2 {
			s.refuseTLS(c, errors.New("the client does not offer HTTP/2"))
			return
		}
	}
	c.says(func(seen *Connection) {
		seen.Secured, seen.Protocol = now, protocol
		seen.TLS, seen.Resumed, seen.Name = tls.VersionName(state.Version), state.DidResume, state.ServerName
	})
	conn := &secured{t, c}
	if protocol == "h2" {
		s.serveHTTP2(ctx, conn)
		return
	}
	s.h1in.Give(conn)
}

// refuseTLS ends a connection whose TLS handshake failed. It sends a sentence to clients that did
// not use TLS at all.
func (s *Server) refuseTLS(c *connection, err error) {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && looksLikeHTTP(record.RecordHeader[:]) {
		_, _ = io.WriteString(c, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"+
			"This port speaks HTTPS, and was spoken to in HTTP.\n")
		err = errors.New("the client spoke HTTP to a port for HTTPS")
	}
	s.log.Printf("TLS with %s: %v", c.RemoteAddr(), err)
	c.says(func(seen *Connection) {
		if seen.Error == "" {
			seen.Error = "TLS: " + strings.TrimPrefix(err.Error(), "tls: ")
		}
	})
	_ = c.Close()
}

func looksLikeHTTP(head []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PRI *", "CONNE", "PATCH"} {
		if string(head) == method {
			return true
		}
	}
	return false
}
