package webui

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	witness "github.com/eideticker/eideticker/netsim/serve"
)

// overALine gives a run the network of one that was made over a line: some requests, the last of
// them with a hostile address and no answer.
func overALine(dir string, found *runfolder.Found) error {
	w := &found.Results.Windows[0]
	at := func(ms int) timeline.Time { return timeline.Time(w.StartNS).Add(time.Duration(ms) * time.Millisecond) }
	device, server := netip.MustParseAddrPort("198.18.0.2:5000"), netip.MustParseAddrPort("198.18.0.1:80")
	e := har.Evidence{
		Flows: []link.Flow{{Protocol: "tcp", Device: device, Server: server, Opened: at(0), Answered: at(100),
			First: at(101)}},
		Connections: []witness.Connection{{ID: 1, Network: "tcp", Client: device, Server: server, Accepted: at(150),
			Protocol: "http/1.1"}},
	}
	n := &result.Network{
		Profile: "3g", RTTAskedNS: 100_000_000, RTTNS: 100_400_000, DownAsked: 1_600_000, Down: 1_597_000,
		LossAsked: 0.01, Loss: 0.012, Requests: 1204, Connections: 1, NamesRefused: 2, Missed: 1,
		BytesUp: 900, BytesDown: 34_567, File: "network.har",
	}
	for i, path := range []string{"/", "/app.js", "/picture.png", "/" + evilPath} {
		x := witness.Exchange{ID: i + 1, Connection: 1, Method: "GET", URL: "http://page.test" + path, Status: 200,
			Began: at(150 + 300*i), FirstByte: at(151 + 300*i), From: int64(i) * 8000, To: int64(i+1) * 8000,
			ResponseBytes: 7700, DecodedBytes: 7700}
		e.Flows[0].Arrivals = append(e.Flows[0].Arrivals, link.Arrival{At: at(205 + 300*i), Bytes: x.From + 1},
			link.Arrival{At: at(255 + 300*i), Bytes: x.To})
		r := result.Request{Method: "GET", URL: x.URL, Status: x.Status, Protocol: "http/1.1", Priority: "u=3",
			Reused: i > 0, BeginNS: int64(at(100 + 300*i)), NameNS: -1, ConnectNS: -1, TLSNS: -1, WaitNS: 105e6,
			LoadNS: 50e6, Exact: i < 3, WireBytes: 8000, BodyBytes: 7700, DecodedBytes: 7700}
		if i == 0 {
			r.BeginNS, r.ConnectNS = int64(at(0)), 100e6
		}
		if i == 3 {
			r.Status, r.DecodedBytes, x.Status = 0, 9000, 0
		}
		n.List, e.Exchanges = append(n.List, r), append(e.Exchanges, x)
	}
	found.Results.Network = n
	if err := os.WriteFile(filepath.Join(dir, n.File), []byte("{}"), 0o644); err != nil {
		return err
	}
	const name = runfolder.PicturesDir + "/waterfall.svg"
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w.Pictures = append(w.Pictures, result.Picture{Kind: result.PictureWaterfall, File: name, Data: n.File,
		Text: "What the network brought.", Frame: -1})
	if err := har.New(e).SVG(f, har.Picture{Title: "a load", From: timeline.Time(w.StartNS), To: timeline.Time(w.EndNS),
		Marks: []har.Mark{{At: at(600), Name: "start render"}}}); err != nil {
		return err
	}
	return f.Close()
}

const evilPath = `<img src=x onerror="window.evil=1">`

// A run over a link shows its waterfall under the filmstrip. Below it are the link's conditions and
// each request with its frame.
func TestNetworkOfARun(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	plain := p.makeRun("20261121-201530-framerate-k7f2", smooth)
	p.more = overALine
	m := p.makeRun("20261121-201531-load-k7f3", smooth)
	b.open("#/runs/" + m.id)
	b.await("the network is told of", `document.querySelector('.network') !== null`)
	b.Do(chromedp.Evaluate[chromedp.Void](
		`document.querySelector('.picture.waterfall').scrollIntoView({block: 'center'})`))
	b.await("the waterfall is a picture", `document.querySelector('.picture.waterfall img').naturalWidth === 1200`)
	if !browsertest.Eval[bool](b.Tab,
		`Boolean(document.querySelector('.picture.filmstrip').compareDocumentPosition(
			document.querySelector('.picture.waterfall')) & Node.DOCUMENT_POSITION_FOLLOWING)`) {
		t.Error("the waterfall is not under the filmstrip")
	}
	text := browsertest.Eval[string](b.Tab,
		`[...document.querySelectorAll('.network tr')].map((r) => [...r.cells].map((c) =>
			c.innerText.trim()).join(' | ')).join('\n') + '\n' + document.querySelector('.network').innerText`)
	for _, want := range []string{"round trip | 100 ms | 100.4 ms", "to the device | 1.6 Mbit/s | 1.6 Mbit/s",
		"from the device | not limited | not limited", "lost | 1 % | 1.2 %", "1,204",
		"1,200 more requests are in the HAR file", "| 100 ms | 105 ms | 50 ms | 7.8", "≈ 105 ms", "same connection",
		"/%3Cimg%20src=x"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told:\n%s", want, text)
		}
	}
	b.Log("a request leads to the frame that was shown when it began")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('.network .requests .to')[2].click()`))
	first := browsertest.Eval[int](b.Tab,
		`Number(document.querySelectorAll('.network .requests .to')[0].title.match(/\d+/)[0])`)
	b.await("it is there", fmt.Sprintf(`Math.abs(Number(document.querySelector('.frame-number').value) - %d - 42) <= 1`,
		first))
	if browsertest.Eval[bool](b.Tab, `'evil' in window || document.querySelector('main img[src=x]') !== null`) {
		t.Error("an address was run")
	}
	b.Log("a run over no line has nothing of it")
	b.open("#/runs/" + plain.id)
	b.await("it is shown", `document.querySelector('.filmstrips') !== null`)
	if browsertest.Eval[bool](b.Tab, `document.querySelector('.network, .picture.waterfall') !== null`) {
		t.Error("it has a network")
	}
	b.Quiet()
}
