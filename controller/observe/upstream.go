package observe

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// loadKey is the key of a request's treatment in its context.
type loadKey struct{}

// newProxy returns the handler that asks the application.
func (o *Observer) newProxy() http.Handler {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, Control: o.dials}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   100,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // the client's codings are asked for
	}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: o.ask, ModifyResponse: o.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // the client waits
				o.fails(err)
			}
			http.Error(w, "The application does not answer.", http.StatusBadGateway)
		},
	}
}

// idField is a field of requests for the application. It reveals an observer that asks itself.
const idField = "Eideticker-Observer"

// dials refuses addresses that only this machine can reach, if clients are on others.
func (o *Observer) dials(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if ip := at.Addr().Unmap(); err == nil && o.o.Outside && (ip.IsLoopback() || ip.IsUnspecified() ||
		ip.IsLinkLocalUnicast()) {
		return errors.New("clients of other machines may not ask this address")
	}
	return err
}

// clientOrigin is the origin that the client asked.
func clientOrigin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// ask writes the request for the application.
func (o *Observer) ask(p *httputil.ProxyRequest) {
	withoutCookie(p.Out.Header)
	p.Out.Header.Set(idField, o.id)
	if o.o.Upstream == nil {
		p.Out.URL.Scheme, p.Out.URL.Host, _ = strings.Cut(clientOrigin(p.In), "://")
		p.Out.Host = p.In.Host
		return
	}
	p.SetURL(o.o.Upstream)
	p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"] // SetXForwarded adds to it
	p.SetXForwarded()
	if o.o.KeepHost {
		p.Out.Host = p.In.Host
		return
	}
	from, to := clientOrigin(p.In), o.upstreamOrigin()
	for _, name := range []string{"Origin", "Referer"} {
		if rest, ok := strings.CutPrefix(p.In.Header.Get(name), from); ok && (rest == "" || rest[0] == '/') {
			p.Out.Header.Set(name, to+rest)
		}
	}
}

func (o *Observer) upstreamOrigin() string { return o.o.Upstream.Scheme + "://" + o.o.Upstream.Host }

// answered adapts the response's header.
func (o *Observer) answered(response *http.Response) error {
	h, in := response.Header, response.Request
	h.Del("Alt-Svc") // clients would leave the proxy
	if load, _ := in.Context().Value(loadKey{}).(kind); load == measured || load == reporting {
		use := in.Header.Get("Sec-Fetch-Dest")
		if t := h.Get("Content-Type"); strings.Contains(t, "html") || strings.Contains(t, "script") ||
			use == "script" || strings.HasSuffix(use, "worker") {
			h.Del("Last-Modified") // else another load could keep this one's text; an ETag is changed
			if !strings.Contains(h.Get("Cache-Control"), "no-store") {
				h.Set("Cache-Control", "private, no-cache") // it differs between users and loads
			}
		}
	}
	if o.o.Upstream == nil || o.o.KeepHost {
		return nil
	}
	client, _ := in.Context().Value(originKey{}).(string)
	to, err := url.Parse(client)
	if err != nil || to.Hostname() == o.o.Upstream.Hostname() && to.Port() == o.o.Upstream.Port() {
		return nil
	}
	h.Del("Strict-Transport-Security") // it is not about the client's host
	for _, name := range []string{"Location", "Content-Location", "Access-Control-Allow-Origin"} {
		if rest, ok := strings.CutPrefix(h.Get(name), o.upstreamOrigin()); ok && (rest == "" || rest[0] == '/') {
			h.Set(name, client+rest)
		}
	}
	for i, line := range h["Set-Cookie"] {
		h["Set-Cookie"][i] = forClient(line, to)
	}
	return nil
}

// originKey is the key of the origin that the client asked.
type originKey struct{}

// forClient removes attributes of a cookie that a client would refuse for its host.
func forClient(cookie string, client *url.URL) string {
	var kept []string
	for i, part := range strings.Split(cookie, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		domain := strings.TrimPrefix(strings.ToLower(value), ".")
		switch host := strings.ToLower(client.Hostname()); {
		case i == 0:
		case strings.EqualFold(name, "domain") && host != domain && !strings.HasSuffix(host, "."+domain):
			continue
		case client.Scheme == "http" && (strings.EqualFold(name, "secure") ||
			strings.EqualFold(name, "samesite") && strings.EqualFold(value, "none")): // which needs secure
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, ";")
}

// withLoad notes the treatment of a request, and the origin that the client asked.
func withLoad(r *http.Request, load kind) *http.Request {
	ctx := context.WithValue(r.Context(), loadKey{}, load)
	return r.WithContext(context.WithValue(ctx, originKey{}, clientOrigin(r)))
}
