package webui

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// TestConnectsAgain: a page was connected to another rig at this address. It has a number and a
// device that are unknown to this one. It connects, and requests the state anew. It does not try
// the same for ever.
//
// Fault: A client resumes at an event that the rig never had
func TestConnectsAgain(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict=%v", strict), func(t *testing.T) {
			t.Parallel()
			needsBrowser(t)
			p := newPlayed(t)
			p.strict, p.seq = strict, 7
			server := httptest.NewServer(p)
			t.Cleanup(server.Close)
			b := newTab(t, server.URL)
			b.open("#/rig")
			b.await("the page is there", `document.querySelector('main') !== null`)
			browsertest.Eval[bool](b.Tab, `(() => {
				window.tried = {states: [], stale: 0, asked: 0};
				import('/js/api.js').then(({Rig}) => {
					const rig = tried.rig = new Rig();
					rig.seq = 2 ** 50;
					rig.watched = {device: 'gone', show() {}};
					rig.stale.add(() => tried.stale++);
					rig.onstate = (state) => tried.states.push(state);
					const send = rig.send.bind(rig);
					rig.send = (socket, method, params) => {
						tried.asked += method === 'subscribe';
						return send(socket, method, params);
					};
					rig.open();
				});
				return true;
			})()`)
			b.await("it is connected, or has tried in vain", `tried.states.includes('connected') || tried.asked > 3`)
			want := map[bool]string{false: "[1 7 1]", true: "[2 7 1]"}[strict]
			if got := fmt.Sprint(browsertest.Eval[[]int](b.Tab,
				`[tried.asked, tried.rig.seq, tried.stale]`)); got != want {
				t.Errorf("subscribed so often, latest event, asked for the state so often: %s, want %s", got, want)
			}
			b.Quiet()
		})
	}
}
