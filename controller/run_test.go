package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

func marked(steps ...suite.Step) *suite.Test {
	return &suite.Test{Name: "t", Page: "/x.html", Sync: suite.Sync{Markers: true}, Steps: steps,
		Timeout: 20 * time.Second}
}

func do(a suite.Action) suite.Step { return suite.Step{Action: a, Line: 7} }

func px(x, y float64) suite.Point {
	return suite.Point{X: suite.Coordinate{Value: x}, Y: suite.Coordinate{Value: y}}
}

func TestPageWithMarkers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.launched = page(2 * time.Second)
		played, err := w.run(t.Context(), marked(), true)
		if err != nil || !played.Began || !played.Ended {
			t.Errorf("%+v, %v", played, err)
		}
		if want := (frame.Region{X: 10, Y: 20, Width: 100, Height: 50}); played.Area != want {
			t.Errorf("area %v, want %v", played.Area, want)
		}
		wantKinds(t, w, Launching, GreenSeen, Began, Ended)
	})
}

// TestBrowserThatIsDeaf: a device whose command to the browser never returns ends the run. The
// error names the command.
//
// Fault: A device, its agent or its adb server stops answering
func TestBrowserThatIsDeaf(t *testing.T) {
	for deaf, want := range map[string]string{
		"launch": "start the browser: the device did not take within 5m0s what it was told: start http://green/",
		"load":   "the device did not take within 5m0s what it was told: load http://",
	} {
		inBubble(t, func(t *testing.T, w *world) {
			w.deaf = deaf
			w.launched = func(w *world, _ string) { w.later(time.Second, "green") }
			test := &suite.Test{Name: "t", URL: "http://a.example/", Sync: suite.Sync{Still: time.Second},
				Timeout: 20 * time.Second}
			if _, err := w.run(t.Context(), test, false); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", deaf, err, want)
			}
		})
	}
}

func TestAddressWithoutMarkers(t *testing.T) {
	for name, tc := range map[string]struct {
		sync  suite.Sync
		steps []suite.Step
		want  []string
		still bool
	}{
		"still": {suite.Sync{Still: 3 * time.Second}, nil, []string{Launching, GreenSeen, Navigation, Began, Ended},
			true},
		"event": {suite.Sync{Event: "done"},
			[]suite.Step{do(suite.Sleep{For: time.Second}), do(suite.Mark{Kind: "done"})},
			[]string{Launching, GreenSeen, Navigation, Began, "done", Ended}, false},
		"limit": {suite.Sync{Limit: 30 * time.Second}, nil, []string{Launching, GreenSeen, Navigation, Began, Ended},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.launched = func(w *world, address string) {
					if address != "http://green/" {
						t.Errorf("the browser begins with %s", address)
					}
					w.later(time.Second, "green")
				}
				w.loaded = func(w *world) {
					w.later(300*time.Millisecond, "white", time.Second, "words", time.Second,
						"pictures")
				}
				test := &suite.Test{Name: "t", URL: "https://example.org/", Sync: tc.sync, Steps: tc.steps,
					Timeout: 20 * time.Second}
				played, err := w.run(t.Context(), test, false)
				if err != nil || !played.Ended || played.Still != tc.still || w.shows != "red" {
					t.Errorf("%+v, %v; the screen shows %s", played, err, w.shows)
				}
				wantKinds(t, w, tc.want...)
			})
		})
	}
}

// TestBusyPage: a page that computes has not ended, though its picture is still. One that always
// computes ends after a time, and the thread is named.
func TestBusyPage(t *testing.T) {
	for name, tc := range map[string]struct {
		busy  time.Duration // after the first words
		late  time.Duration // of the look at the first stillness
		moves bool          // for ever, after a stillness
		want  string        // the test ends without rest
		seen  time.Duration // of the end, after the first words
	}{
		"draws late":      {6 * time.Second, 0, false, "", 9 * time.Second},
		"always computes": {time.Hour, 0, false, "Main computed", 18 * time.Second},
		"rests":           {0, 0, false, "", 3 * time.Second},
		"is seen late":    {0, 2 * time.Second, false, "", 8 * time.Second},
		"just computed":   {3 * time.Second, 0, false, "", 6 * time.Second},
		"moves then":      {3 * time.Second, 0, true, "the picture changed", 18 * time.Second},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			w.launched = func(w *world, _ string) { w.later(time.Second, "green") }
			w.late = tc.late
			var words timeline.Time
			w.loaded = func(w *world) {
				words = w.Now().Add(300 * time.Millisecond)
				w.later(300*time.Millisecond, "words")
				frames := []any{450*time.Millisecond + tc.busy, "pictures"} // drawn some time after
				for i := 0; tc.moves && i < 145; i++ {
					frames = append(frames, 100*time.Millisecond, "a film")
				}
				if tc.moves || tc.want == "" && tc.busy > 0 {
					w.later(frames...)
				}
			}
			w.busy = func(context.Context) string {
				if w.Now().Sub(words) < tc.busy {
					return "Main"
				}
				return ""
			}
			played, err := w.run(t.Context(), &suite.Test{Name: "t", URL: "https://a.example/",
				Sync: suite.Sync{Still: 3 * time.Second}, Timeout: 3 * time.Minute}, false)
			ended := w.Now()
			if err != nil || !played.Still || played.Restless != tc.want {
				t.Fatalf("%s: %+v, %v", name, played, err)
			}
			if after := ended.Sub(words); after < tc.seen || after > tc.seen+3*time.Second/2 {
				t.Errorf("%s: the end is %v after the first words", name, after)
			}
		})
	}
}

// TestBusyStep: a step that waits for rest goes on after the picture that a busy page draws. A page
// that always computes is reported.
func TestBusyStep(t *testing.T) {
	for name, tc := range map[string]struct {
		busy time.Duration
		want string
		seen time.Duration // of the step's end, after the first words
	}{
		"draws late":      {6 * time.Second, "", 8 * time.Second},
		"always computes": {time.Hour, "Main computed", 17 * time.Second},
		"rests":           {0, "", 2 * time.Second},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			w.launched = func(w *world, _ string) { w.later(time.Second, "green") }
			var words timeline.Time
			w.loaded = func(w *world) {
				words = w.Now().Add(300 * time.Millisecond)
				w.later(300*time.Millisecond, "words", tc.busy, "pictures")
			}
			w.busy = func(context.Context) string {
				if w.Now().Sub(words) < tc.busy {
					return "Main"
				}
				return ""
			}
			wait := suite.Wait{Still: 2 * time.Second, Timeout: 10 * time.Second, Optional: true, Rest: true}
			played, err := w.run(t.Context(), &suite.Test{Name: "t", URL: "https://a.example/",
				Steps: []suite.Step{do(wait), do(suite.Mark{Kind: "done"})}, Sync: suite.Sync{Event: "done"},
				Timeout: 3 * time.Minute}, false)
			ended := w.Now()
			if err != nil || played.Restless != tc.want {
				t.Fatalf("%s: %+v, %v", name, played, err)
			}
			if after := ended.Sub(words); after < tc.seen || after > tc.seen+3*time.Second/2 {
				t.Errorf("%s: the step ended %v after the first words", name, after)
			}
		})
	}
}

// TestRedOfItsOwn: a page that draws red needs no stillness.
func TestRedOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.launched = func(w *world, _ string) { w.later(time.Second, "green") }
		w.loaded = func(w *world) { w.later(300*time.Millisecond, "words", time.Second, "red") }
		w.noPainter = true
		played, err := w.run(t.Context(),
			&suite.Test{Name: "t", URL: "https://a.example/", Sync: suite.Sync{Still: 3 * time.Second}}, false)
		if err != nil || played.Still || !played.Ended {
			t.Errorf("%+v, %v", played, err)
		}
	})
}

func TestLaunchStep(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.launched = func(w *world, _ string) { w.later(time.Second, "window", time.Second, "bars") }
		test := &suite.Test{Name: "t", URL: "about:blank", Sync: suite.Sync{Still: time.Second},
			Steps: []suite.Step{do(suite.Launch{})}}
		if _, err := w.run(t.Context(), test, false); err != nil {
			t.Error(err)
		}
		wantKinds(t, w, GreenSeen, Launching, Began, Ended)
	})
}

func TestPings(t *testing.T) {
	click := do(suite.Click{At: px(5, 6), Button: input.Left, Times: 1, Hold: 50 * time.Millisecond})
	ping := suite.Ping{Do: click, Expect: suite.Expect{Change: &frame.Region{Width: 20, Height: 20},
		Timeout: time.Second}, Times: 4, Every: 400 * time.Millisecond, Spread: 100 * time.Millisecond}
	for name, tc := range map[string]struct {
		answers time.Duration
		misses  int
	}{
		"before the button is let go of": {20 * time.Millisecond, 0},
		"after it":                       {200 * time.Millisecond, 0},
		"too late":                       {1500 * time.Millisecond, 4},
		"never":                          {0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.answers = tc.answers
				if name == "too late" {
					ping.Every = 4 * time.Second
				}
				w.launched = func(w *world, _ string) {
					w.later(time.Second, "green", 500*time.Millisecond, "content", 40*time.Second, "red")
				}
				test := marked(do(ping))
				test.Timeout = time.Minute
				played, err := w.run(t.Context(), test, true)
				if err != nil || played.Pings != 4 || played.Misses != tc.misses {
					t.Errorf("%+v, %v", played, err)
				}
				if got := played.Answers[0]; got.Region != (frame.Region{X: 10, Y: 20, Width: 20, Height: 20}) ||
					got.Timeout != time.Second {
					t.Errorf("answers %+v", got)
				}
				pressed := sentOf(w, "button down left")
				for i, e := range kindOf(w, Asked) {
					if e.At != pressed[i].At || e.Uncertainty != pressed[i].Uncertainty {
						t.Errorf("ping %d at %v ± %v, the press at %v ± %v", i, e.At, e.Uncertainty, pressed[i].At,
							pressed[i].Uncertainty)
					}
					if i > 0 && e.At.Sub(pressed[i-1].At) < ping.Every {
						t.Errorf("ping %d comes %v after the one before", i, e.At.Sub(pressed[i-1].At))
					}
				}
				if len(kindOf(w, Answered)) != 4-tc.misses {
					t.Errorf("%d answers", len(kindOf(w, Answered)))
				}
				if up := sentOf(w, "button up left"); len(up) != 4 ||
					up[0].At.Sub(pressed[0].At) < 50*time.Millisecond-w.sendTime {
					t.Errorf("the button was let go of %d times, %v after the press", len(up),
						up[0].At.Sub(pressed[0].At))
				}
			})
		})
	}
}

// TestChangeAfterInput: a change that comes while a key is still held is the one that the next step
// waits for.
func TestChangeAfterInput(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.answers = 10 * time.Millisecond
		w.launched = page(5 * time.Second)
		key := do(suite.Key{Chord: suite.Chord{"ControlLeft", "f"}, Hold: 200 * time.Millisecond, Times: 1})
		_, err := w.run(t.Context(), marked(key, do(suite.Wait{Change: &frame.Region{}, Timeout: time.Second})), true)
		if err != nil {
			t.Error(err)
		}
	})
}

// Fault: The browser hangs, or its page stays green
// Fault: The browser crashes
// Fault: The device disconnects in the middle of a touch
// Fault: A page of an address never comes to rest
func TestFailures(t *testing.T) {
	never := func(w *world, _ string) { w.later(time.Second, "green", 500*time.Millisecond, "content") }
	tap := do(suite.Tap{At: px(1, 1), Times: 1, Hold: 5 * time.Second})
	for name, tc := range map[string]struct {
		prepare func(w *world, cancel func())
		test    *suite.Test
		want    string
		did     string // the last of the hand
	}{
		"browser missing": {func(w *world, _ func()) { w.fails["launch"] = errTest }, marked(),
			"start the browser: of the test", ""},
		"browser hangs": {func(w *world, _ func()) {}, marked(), "waited 1m30s for green", ""},
		"page hangs on green": {
			func(w *world, _ func()) { w.launched = func(w *world, _ string) { w.later(time.Second, "green") } },
			marked(), "waited 20s for the green to go", ""},
		"page never turns red": {func(w *world, _ func()) { w.launched = never }, marked(),
			"the test did not end within 20s, while it was waited for red", ""},
		"longer than its end": {func(w *world, _ func()) { w.launched = never },
			&suite.Test{Name: "e", Page: "/x", Sync: suite.Sync{Limit: 7 * time.Second}, Timeout: 20 * time.Second,
				Steps: []suite.Step{do(suite.Sleep{For: time.Minute})}}, "the test did not end within 27s", ""},
		"wait sees nothing": {func(w *world, _ func()) { w.launched = never },
			marked(do(suite.Wait{Colour: &suite.Colour{R: 1}, Timeout: time.Second})),
			"step wait in line 7: waited 1s for the colour #010000", ""},
		"never still": {func(w *world, _ func()) {
			w.launched, w.moved = never, Seen{Frame: 9, Region: frame.Region{X: 7, Y: 3, Width: 2, Height: 16}}
		}, marked(do(suite.Wait{Still: time.Hour, Timeout: time.Second})), "step wait in line 7: waited 1s for a " +
			"stillness of 1h0m0s in 100x50+10+20; frame 9 changed last, in 2x16+7+3", ""},
		"never ends": {func(w *world, _ func()) {
			w.launched, w.moved = never, Seen{Frame: 9, Region: frame.Region{X: 7, Y: 3, Width: 20, Height: 16}}
		}, &suite.Test{Name: "e", Page: "/x", Sync: suite.Sync{Still: time.Hour}}, "waited for a stillness of " +
			"1h0m0s in 100x50+10+20, or red in 100x50+10+20; frame 9 changed last, in 20x16+7+3; " +
			"--end 20s, or end: 20s in a test file, ends it after a time", ""},
		"event never comes": {func(w *world, _ func()) { w.launched = never },
			&suite.Test{Name: "e", URL: "http://a.example/", Sync: suite.Sync{Event: "x"}}, "", ""},
		"nobody looks": {func(w *world, _ func()) { w.fails["await"] = errTest }, marked(), "of the test",
			""},
		"no input": {func(w *world, _ func()) { w.noInput = true }, marked(tap),
			"sends input, and the device has none", ""},
		"red does not come": {func(w *world, _ func()) { w.launched, w.redIgnored = never, true },
			&suite.Test{Name: "e", Page: "/x", Sync: suite.Sync{Limit: time.Second}},
			"red was sent to the screen: waited 15s for red", ""},
		"no way to show red": {func(w *world, _ func()) { w.launched, w.noPainter = never, true },
			&suite.Test{Name: "e", Page: "/x", Sync: suite.Sync{Limit: time.Second}}, "cannot show one", ""},
		"driver fails": {func(w *world, _ func()) { w.launched, w.fails["do"] = never, errTest }, marked(tap),
			"step tap in line 7: after 0s: of the test", ""},
		"browser crashes": {func(w *world, _ func()) { w.launched = crash(2*time.Second + 50*time.Millisecond) },
			marked(tap), "the browser ended in the middle of the run: killed", "released finger 0 up"},
		"crashes while it moves": {func(w *world, _ func()) {
			w.launched, w.moved = crash(3*time.Second), Seen{Frame: 9, Region: frame.Region{Width: 20, Height: 16}}
		}, &suite.Test{Name: "e", Page: "/x", Sync: suite.Sync{Still: time.Hour}},
			"frame 9 changed last, in 20x16+0+0$", ""},
		"crashes while it waits": {func(w *world, _ func()) { w.launched = crash(3 * time.Second) }, marked(),
			"the browser ended in the middle of the run: killed, while it was waited for red", ""},
		"interrupted": {func(w *world, cancel func()) {
			w.launched = func(w *world, a string) {
				never(w, a)
				time.AfterFunc(4*time.Second, cancel)
			}
		}, marked(tap), "context canceled", "released finger 0 up"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tc.prepare(w, cancel)
				played, err := w.run(ctx, tc.test, tc.test.URL == "")
				if err == nil || !strings.Contains(err.Error()+"$", tc.want) || played.Ended {
					t.Errorf("%+v, error %v, want %q", played, err, tc.want)
				}
				if tc.did != "" && (len(w.did) == 0 || w.did[len(w.did)-1] != tc.did) {
					t.Errorf("the hand did %q, want %q in the end", w.did, tc.did)
				}
			})
		})
	}
}

// crash ends the browser after some time.
func crash(after time.Duration) func(*world, string) {
	return func(w *world, _ string) {
		w.later(time.Second, "green", 500*time.Millisecond, "content")
		ended := w.ended
		time.AfterFunc(after, func() { close(ended) })
	}
}

func TestStepErrorsSayWhere(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.launched = page(time.Minute)
		loop := suite.Loop{Times: 3,
			Steps: []suite.Step{{Action: suite.Wait{Still: time.Second, Timeout: time.Millisecond}, Line: 12}}}
		_, err := w.run(t.Context(), marked(do(loop)), true)
		var step *stepError
		if !errors.As(err, &step) || step.Line != 12 || step.Verb != "wait" {
			t.Errorf("error %v", err)
		}
	})
}

func TestReplayChoosesByWeight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		chosen := map[string]int{}
		w.recorded = func(file string) ([]input.Timed, error) {
			chosen[file]++
			return []input.Timed{{Actions: []input.Action{input.Wheel{Y: 1}}}}, nil
		}
		w.launched = page(15 * time.Second)
		replay := do(suite.Replay{Files: []suite.Recorded{{File: "a", Weight: 1}, {File: "b", Weight: 3}}})
		if _, err := w.run(t.Context(), marked(do(suite.Loop{Times: 400, Steps: []suite.Step{replay}})),
			true); err != nil {
			t.Error(err)
		}
		if a := chosen["a"]; a < 60 || a > 140 || a+chosen["b"] != 400 {
			t.Errorf("chosen %v of 400, where one in four was to be a", chosen)
		}
	})
}

func TestPlan(t *testing.T) {
	p := Plan{Variants: 3, WarmUps: 2, Repeats: 20, Seed: 5}
	all := slices.Collect(p.Turns())
	if !slices.Equal(all, slices.Collect(p.Turns())) {
		t.Error("the same plan has another order")
	}
	if len(all) != 66 {
		t.Fatalf("%d turns", len(all))
	}
	first := [3]int{}
	for i := 0; i < len(all); i += 3 {
		seen := [3]bool{}
		for place, turn := range all[i : i+3] {
			seen[turn.Variant] = true
			warm := i < 6
			repeat := i / 3
			if !warm {
				repeat -= 2
			}
			if want := (Turn{turn.Variant, repeat, i / 3, place, warm}); turn != want {
				t.Errorf("%+v, want %+v", turn, want)
			}
		}
		if seen != [3]bool{true, true, true} {
			t.Errorf("block %d lacks a variant", i/3)
		}
		first[all[i].Variant]++
	}
	if first[0] == 22 || first[0] == 0 || first[1] == 0 || first[2] == 0 {
		t.Errorf("first in their blocks were %v", first)
	}
}

// A link changes with the step that changes it, and the recording has an event. A link that cannot
// be changed ends the run.
func TestLineIsChanged(t *testing.T) {
	for want, tc := range map[string]struct {
		network suite.Network
		line    suite.Link
	}{
		"":                                 {suite.Network{Profile: "cable"}, suite.Link{Profile: "3g"}},
		"step network in line 7: it rains": {suite.Network{Profile: "cable"}, suite.Link{RTT: time.Second}},
		"step network in line 7: the device has no network of the run's own": {suite.Network{},
			suite.Link{Profile: "3g"}},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			w.launched = page(2 * time.Second)
			test := marked(do(suite.Mark{Kind: "before"}), do(tc.line))
			test.Network = tc.network
			_, err := w.run(t.Context(), test, true)
			if want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			i := slices.IndexFunc(w.events, func(e timeline.Event) bool { return e.Kind == LinkChanged })
			if i < 1 || string(w.events[i].Data) != `{"conditions":"3g, slow"}` || w.events[i-1].Kind != "before" {
				t.Errorf("%d of %+v", i, w.events)
			}
		})
	}
}
