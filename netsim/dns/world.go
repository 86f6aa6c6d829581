package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// World is the names that there are.
type World struct {
	Names     []string     // "example.org", or "*.example.org" for all below it, or "*" for every name
	Addresses []netip.Addr // where all of them lead: of IPv4, IPv6 or both
	// protocols in HTTPS records (RFC 9460), such as h3 and h2, of servers at port 443; none: no
	// such records
	ALPN []string
	// Secure says of which names, in lower case and without the dot at the end, there are HTTPS
	// records; nil: of all. Browsers take one for a word that the name is to be asked by HTTPS
	// alone.
	Secure func(name string) bool
	TTL    uint32 // seconds
}

const (
	maxNames = 100_000
	maxName  = 253 // bytes, RFC 1035

	defaultALPN = "http/1.1" // that a record has without saying so
)

// names is a World's, made ready to be looked up.
type names struct {
	exact, below map[string]bool
	all          bool
}

func (w *World) index() (*names, error) {
	if len(w.Names) > maxNames {
		return nil, fmt.Errorf("%d names are more than %d", len(w.Names), maxNames)
	}
	n := &names{exact: map[string]bool{}, below: map[string]bool{}}
	for _, name := range w.Names {
		if name == "*" {
			n.all = true
			continue
		}
		base, wild := strings.CutPrefix(name, "*.")
		if _, ok := dns.IsDomainName(base); !ok || base == "" || len(base) > maxName {
			return nil, fmt.Errorf("%q is not a name of a host", name)
		}
		if wild {
			n.below[dns.CanonicalName(base)] = true
		} else {
			n.exact[dns.CanonicalName(base)] = true
		}
	}
	for _, a := range w.Addresses {
		if !a.IsValid() {
			return nil, fmt.Errorf("an address is not valid")
		}
	}
	return n, nil
}

// holds reports whether a name, canonical and with a dot at its end, is of the world.
func (n *names) holds(name string) bool {
	if n.all || n.exact[name] {
		return true
	}
	for {
		_, rest, ok := strings.Cut(name, ".")
		if !ok || rest == "" {
			return false
		}
		if n.below[rest] {
			return true
		}
		name = rest
	}
}

// answer is the records of a name of one type.
func (w *World) answer(name string, kind uint16) (all []dns.RR) {
	header := func(kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: w.TTL}
	}
	if kind == dns.TypeHTTPS {
		// What begins with an underscore is the name of another port (section 9.1).
		if len(w.ALPN) == 0 || strings.HasPrefix(name, "_") || w.Secure != nil &&
			!w.Secure(trimDot(dns.CanonicalName(name))) {
			return nil
		}
		r := &dns.HTTPS{SVCB: dns.SVCB{Hdr: header(kind), Priority: 1, Target: ".",
			Value: []dns.SVCBKeyValue{&dns.SVCBAlpn{Alpn: w.ALPN}}}}
		if !slices.Contains(w.ALPN, defaultALPN) {
			r.Value = append(r.Value, &dns.SVCBNoDefaultAlpn{})
		}
		return []dns.RR{r}
	}
	for _, a := range w.Addresses {
		switch {
		case kind == dns.TypeA && a.Is4():
			all = append(all, &dns.A{Hdr: header(kind), A: a.AsSlice()})
		case kind == dns.TypeAAAA && a.Is6():
			all = append(all, &dns.AAAA{Hdr: header(kind), AAAA: a.AsSlice()})
		}
	}
	return all
}
