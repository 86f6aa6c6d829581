package webui

import (
	"fmt"
	"image"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// TestHeed: a client that follows events from the answer of a call misses no event of that time. A
// view that is open before the page is connected is requested again then.
func TestHeed(t *testing.T) {
	const script = `import {Rig} from 'PAGE/js/api.js';
const rig = new Rig();
const event = (seq) => rig.heard(JSON.stringify({method: 'event', params: {seq}}));
rig.call = async (method) => {
	await null;
	event(1);
	event(2);
	return method;
};
const [answer, meanwhile] = await rig.heed('rig.status', {});
event(3);
const left = [rig.listeners.size];
rig.call = async () => { throw new Error('refused'); };
await rig.heed('rig.status', {}).catch(() => {});
left.push(rig.listeners.size);
const over = new AbortController();
over.abort();
rig.follow(over.signal, () => {});
left.push(rig.listeners.size);

const again = [];
rig.send = async () => ({seq: 7, missed: false});
await rig.opened({});
again.push(rig.seq);
rig.stale.add(() => again.push('asked'));
await rig.opened({}); // from where it stood
rig.seq = undefined;
await rig.opened({}); // for the first time
console.log(JSON.stringify([answer, meanwhile.map((e) => e.seq), left, again]));`
	var got []any
	inNode(t, script, &got)
	if want := "[rig.status [1 2] [0 0 0] [3 asked]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestPicturesOfAnotherDevice: a picture that was on its way when another device was chosen is not
// shown as that one's.
func TestPicturesOfAnotherDevice(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	b.open("#/rig")
	b.await("one device is shown", `document.querySelector('.live')?.width === 640`)
	b.Do(chromedp.Evaluate[chromedp.Void](`(live => {
		window.widths = [];
		new MutationObserver(() => widths.push(live.width)).observe(live, {attributes: true});
	})(document.querySelector('.live'))`))
	b.click(".tab:nth-child(2)")
	b.await("the other one is shown",
		`document.querySelector('.device').ariaLabel === 'bench' && widths.at(-1) === 640`)
	p.mu.Lock()
	for _, c := range p.clients {
		c.picture("local", image.NewRGBA(image.Rect(0, 0, 320, 180)))
	}
	p.mu.Unlock()
	b.await("it goes on", fmt.Sprintf(`widths.length > %d`, 8+browsertest.Eval[int](b.Tab, `widths.length`)))
	if browsertest.Eval[bool](b.Tab, `widths.includes(320)`) {
		t.Error("a picture of the first device is shown as the second one's")
	}
	b.Quiet()
}
