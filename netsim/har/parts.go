package har

import (
	"cmp"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Part is a named part of a request's time.
type Part struct {
	Name     string // blocked, dns, connect, tls, send, wait or receive
	From, To timeline.Time
}

// Parts returns the parts of a request in order and without overlap, from its begin to its end.
// Known parts follow the best known times. Time between two parts is blocked. A request without a
// known begin has no parts.
func (r *Request) Parts() (all []Part) {
	begin := r.Begins()
	if !begin.Known() {
		return nil
	}
	at := begin.At
	add := func(name string, from, to Moment) {
		if !from.Known() || !to.Known() || to.At <= at {
			return
		}
		if from.At > at {
			all = append(all, Part{"blocked", at, from.At})
			at = from.At
		}
		if to.At > at {
			all = append(all, Part{name, at, to.At})
			at = to.At
		}
	}
	add("dns", r.Name.From, r.Name.To)
	if r.Over.Protocol != "h3" { // the handshake of QUIC is also that of TLS
		add("connect", r.Connect.From, r.Connect.To)
	}
	add("tls", r.TLS.From, r.TLS.To)
	if !r.Sent.Known() {
		return all
	}
	sent := r.Sent
	sent.At += timeline.Time(r.sending())
	add("send", r.Sent, sent)
	add("wait", sent, r.FirstByte)
	add("receive", r.FirstByte, r.Ended)
	return all
}

// Host returns the host of a request's address, in small letters; "": it has none.
func (r *Request) Host() string { return hostOf(r.Served.URL) }

// Label returns host and path of a request, shortened to so many characters. A request without an
// address has its method.
func (r *Request) Label(most int) string {
	host, rest := parted(r.Served.URL)
	return cmp.Or(rowLabel(host+rest, most), r.Served.Method)
}
