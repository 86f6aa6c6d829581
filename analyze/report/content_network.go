package report

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
)

// networkView is what the page says of the line that a run was made over.
type networkView struct {
	Profile  string
	Line     []askedView
	Facts    []fact
	Requests []requestView
	Columns  []string // parts that any of them has
	Unlisted int
	File     link
}

// askedView is a figure as it was asked, and as it was found.
type askedView struct{ Name, Asked, Got string }

type requestView struct {
	Number  int
	Name    string // short
	Full    string
	Status  string
	Missed  bool
	About   string // protocol, priority, connection
	Begin   string // from the first request on
	Parts   []string
	Size    string
	Decoded string // where that is another
	Inexact bool
}

// parts of a request, in their order.
func parts(r *Request) []int64 { return []int64{r.NameNS, r.ConnectNS, r.TLSNS, r.WaitNS, r.LoadNS} }

func newNetwork(n *Network, from *files) *networkView {
	if n == nil {
		return nil
	}
	v := &networkView{Profile: n.Profile, Unlisted: n.Requests - len(n.List)}
	v.Line = []askedView{
		{"round trip", milliseconds(n.RTTAskedNS), milliseconds(n.RTTNS)},
		{"to the device", rateText(n.DownAsked, n.DownAsked), rateText(n.Down, n.DownAsked)},
		{"from the device", rateText(n.UpAsked, n.UpAsked), rateText(n.Up, n.UpAsked)},
		{"lost", percent(n.LossAsked), percent(n.Loss)},
	}
	v.Facts = []fact{{"requests", count(n.Requests)}, {"connections", count(n.Connections)},
		{"to the device", byteText(n.BytesDown)}, {"from the device", byteText(n.BytesUp)}}
	if n.Missed > 0 {
		v.Facts = append(v.Facts, fact{"without an answer that serves", count(n.Missed)})
	}
	if n.NamesRefused > 0 {
		v.Facts = append(v.Facts, fact{"names refused", count(n.NamesRefused)})
	}
	if address := from.refer(n.File); address != "" && !from.inline {
		v.File = link{base(n.File), "all of them, as HAR 1.2", template.URL(address)}
	}
	v.requests(n.List)
	return v
}

func (v *networkView) requests(list []Request) {
	names := []string{"name", "connect", "TLS", "waiting", "download"}
	var has [5]bool
	hosts := map[string]bool{}
	for i := range list {
		for k, ns := range parts(&list[i]) {
			has[k] = has[k] || ns >= 0
		}
		hosts[hostOf(list[i].URL)] = true
	}
	for k, name := range names {
		if has[k] {
			v.Columns = append(v.Columns, name)
		}
	}
	for i := range list {
		r := &list[i]
		row := requestView{
			Number: i + 1, Name: shortURL(r, len(hosts) > 1), Full: r.Method + " " + r.URL,
			Status: strconv.Itoa(r.Status), Missed: r.Status >= 400 || r.Status == 0,
			Begin: briefMilliseconds(r.BeginNS - list[0].BeginNS), Size: byteText(max(r.WireBytes, r.BodyBytes)),
			Inexact: !r.Exact,
		}
		if r.Status == 0 {
			row.Status = "none"
		}
		row.About = r.Protocol + ", " + r.Priority
		if r.Reused {
			row.About += ", same connection"
		}
		if r.DecodedBytes > r.BodyBytes {
			row.Decoded = byteText(r.DecodedBytes)
		}
		for k, ns := range parts(r) {
			switch {
			case has[k] && ns < 0:
				row.Parts = append(row.Parts, "")
			case has[k]:
				row.Parts = append(row.Parts, briefMilliseconds(ns))
			}
		}
		v.Requests = append(v.Requests, row)
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// shortURL is what tells requests of one host apart.
func shortURL(r *Request, host bool) string {
	const most = 80
	text := r.URL
	if u, err := url.Parse(r.URL); err == nil && u.Host != "" {
		text = firstOf(u.RequestURI(), "/")
		if host {
			text = u.Host + text
		}
	}
	if r.Method != "GET" && r.Method != "" {
		text = r.Method + " " + text
	}
	if letters := []rune(text); len(letters) > most {
		text = string(letters[:most/3]) + "…" + string(letters[len(letters)-most+most/3+1:])
	}
	return text
}

func briefMilliseconds(ns int64) string {
	if ns < 10e6 {
		return trimZeros(strconv.FormatFloat(float64(ns)/1e6, 'f', 1, 64)) + " ms"
	}
	return grouped(strconv.FormatInt((ns+500_000)/1_000_000, 10)) + " ms"
}

// rateText is a rate; asked of 0 it has no limit, and what was found says nothing.
func rateText(bits, asked int64) string {
	switch v := float64(bits); {
	case asked == 0:
		return "not limited"
	case v < 1e3:
		return fmt.Sprintf("%.0f bit/s", v)
	case v < 1e6:
		return trimZeros(strconv.FormatFloat(v/1e3, 'f', 1, 64)) + " kbit/s"
	default:
		return trimZeros(strconv.FormatFloat(v/1e6, 'f', 2, 64)) + " Mbit/s"
	}
}

func percent(share float64) string {
	return trimZeros(strconv.FormatFloat(100*share, 'f', 2, 64)) + " %"
}

func byteText(n int64) string {
	switch v := float64(n); {
	case n < 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return trimZeros(strconv.FormatFloat(v/(1<<10), 'f', 1, 64)) + " KiB"
	default:
		return trimZeros(strconv.FormatFloat(v/(1<<20), 'f', 1, 64)) + " MiB"
	}
}
