package webui

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// step is what the page says of where both runs stand.
const step = `document.querySelector('.pair .readout')?.textContent`

// stand waits until both runs stand at a step, with exact frames.
func (b *tab) stand(at, frameA, frameB int) {
	b.Helper()
	b.await(fmt.Sprintf("step %d, frames %d and %d", at, frameA, frameB),
		fmt.Sprintf(step+`?.startsWith('step %d ') &&
			(c => c.length === 2 && c.every((e) => !e.hidden) && c[0].dataset.frame === '%d' &&
				c[1].dataset.frame === '%d')([...document.querySelectorAll('canvas.exact')])`, at, frameA, frameB))
}

func TestComparePage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	one, other := p.makeRun("20261121-201530-framerate-k7f2", smooth),
		p.makeRun("20261121-201531-framerate-k7f3", uneven)
	b.open("#/compare?a=" + one.id + "&b=" + other.id)
	b.await("the statistics are told", `document.querySelector('.outcome')?.textContent.includes('regressed')`)
	b.stand(0, 30, 30)
	b.await("nothing differs there",
		`document.querySelector('.difference').getAttribute('aria-label') === 'No pixel differs.'`)
	b.press(kb.ArrowRight)
	b.stand(1, 31, 31)

	b.Log("the first frame that differs is the first that differs in the recordings")
	first := 30
	for one.digest(t, first) == other.digest(t, first) {
		first++
	}
	b.press("f")
	b.stand(first-30, first, first)
	b.await("it differs",
		`/^[\d,]+ pixels? differ/.test(document.querySelector('.difference').getAttribute('aria-label'))`)

	b.Log("the address leads there, also for who has it from somebody else")
	b.await("it has the step", fmt.Sprintf(`location.hash.includes('step=%d')`, first-30))
	b.open(fmt.Sprintf("#/compare?a=%s&b=%s&step=%d", one.id, other.id, first-30))
	b.stand(first-30, first, first)

	b.Log("both play, and stop in step")
	b.press(kb.Home)
	b.stand(0, 30, 30)
	b.endless()
	b.press(" ")
	b.await("both play", `[...document.querySelectorAll('video')].every((v) => !v.paused)`)
	b.press(" ")
	b.await("both stand at one step",
		`(c => [...document.querySelectorAll('video')].every((v) => v.paused) && c.every((e) => !e.hidden) &&
			c[0].dataset.frame === c[1].dataset.frame)([...document.querySelectorAll('canvas.exact')])`)
	b.Quiet()
}

// Where a verdict is withheld, a checkbox asks for it anyway. The address keeps the choice.
func TestCompareAnyway(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	one, other := p.makeRun("20261121-201530-framerate-k7f2", smooth),
		p.makeRun("20261121-201531-framerate-k7f3", uneven)
	const (
		said = `document.querySelector('.outcome .state')?.textContent`
		box  = `document.querySelector('[aria-label="Statistics"] input[type=checkbox]')`
	)
	b.open("#/compare?a=" + one.id + "&b=" + other.id)
	b.await("what was measured alike is judged without a question",
		said+`?.includes('regressed') && `+box+` === null`)
	p.mu.Lock()
	p.unlike = true
	p.mu.Unlock()
	b.open("#/compare?b=" + other.id + "&a=" + one.id)
	b.await("the verdict is withheld", said+`?.includes('inconclusive') && `+box+`?.checked === false`)
	b.click(`[aria-label="Statistics"] input[type=checkbox]`)
	b.await("it is given", said+`?.includes('regressed') && `+box+`?.checked === true`)
	b.await("the address has the choice", `location.hash.includes('unlike=1')`)
	b.picture("compare-anyway")
	b.open("#/compare?a=" + one.id + "&b=" + other.id + "&unlike=1")
	b.await("it is given at once", said+`?.includes('regressed') && `+box+`?.checked === true`)
	b.click(`[aria-label="Statistics"] input[type=checkbox]`)
	b.await("it is withheld again", said+`?.includes('inconclusive') && !location.hash.includes('unlike')`)
	b.Quiet()
}

// Runs with other start times and missing frames are compared by the time since their own start.
func TestCompareOtherStarts(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	one, other := p.makeRun("20261121-201530-framerate-k7f2", smooth),
		p.makeRun("20261121-201531-framerate-k7f3", uneven)
	// It begins 9 frames later, lacks the 46th and from the 76th on shows the other one.
	late := p.splice("20261121-201532-framerate-k7f4", part{one, 9, 45}, part{one, 46, 75},
		part{other, 75, other.frames})
	first := 75
	for one.digest(t, first) == other.digest(t, first) {
		first++
	}
	b.open("#/compare?a=" + one.id + "&b=" + late.id)
	b.stand(0, 30, 21)
	for range 14 {
		b.press(kb.ArrowRight)
	}
	b.stand(14, 44, 35)
	b.Log("a frame that one lacks has no partner")
	b.press(kb.ArrowRight)
	b.await("it is said", step+
		`.startsWith('step 15 ') && document.querySelectorAll('.column figcaption')[1].textContent ===
			'this frame was not recorded' &&
			document.querySelector('.difference').getAttribute('aria-label') === 'There is no pair of frames here.'`)
	b.press(kb.ArrowRight)
	b.stand(16, 46, 36)
	b.Log("the first difference is that of the recordings")
	b.press("f")
	b.stand(first-30, first, first-10)
	b.Log("nothing that is drawn differs from itself, however late it is")
	b.open("#/compare?a=" + other.id + "&b=" + late.id + fmt.Sprintf("&step=%d", first-30))
	b.stand(first-30, first, first-10)
	b.await("they are alike",
		`document.querySelector('.difference').getAttribute('aria-label') === 'No pixel differs.'`)
	b.press("n")
	b.await("none differs",
		`document.querySelector('.pair .controls [role=status]').textContent === 'none after this one'`)
	b.Quiet()
}

// TestCounting: which pixels count when frames are compared is what eideticker compare counts.
func TestCounting(t *testing.T) {
	const script = `import {counting, differing} from 'PAGE/js/difference.js';
const frame = (...changed) => {
	const data = new Uint8ClampedArray(4 * 10 * 4).fill(100);
	changed.forEach(([x, y, by]) => { data[4 * (10 * y + x) + 1] += by; });
	return {width: 10, height: 4, data};
};
const same = frame();
const n = (a, b, ...changed) => differing(same, frame(...changed), counting(a, b));
const w = (more) => ({region: [], masks: [], tolerance: 0, min_pixels: 0, ...more});
console.log(JSON.stringify([
	n(null, null), n(null, null, [0, 0, 1]), n(null, null, [9, 3, 1], [0, 1, 9]),
	n(w({region: [1, 0, 9, 4]}), w({region: [1, 0, 9, 4]}), [0, 0, 1], [1, 0, 1], [9, 3, 1]), // content alone
	n(w({region: [1, 0, 9, 4]}), w({region: [2, 0, 8, 4]}), [0, 0, 1]), // which lies elsewhere in the other
	n(w({masks: [[2, 1, 2, 1]]}), w({masks: [[5, 0, 1, 4]]}), [2, 1, 1], [3, 1, 1], [4, 1, 1], [5, 3, 1], [2, 2, 1]),
	n(w({tolerance: 2}), w({}), [0, 0, 2], [1, 0, 3]),
	counting(w({min_pixels: 3}), w({min_pixels: 5})).most,
	differing(same, {width: 5, height: 8, data: same.data}, counting(null, null)),
]));`
	var got []int
	inNode(t, script, &got)
	if want := []int{0, 1, 2, 2, 1, 2, 1, 5, -1}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSteps: which frames of two runs belong together.
func TestSteps(t *testing.T) {
	const script = `import {placed} from 'PAGE/js/comparedrun.js';
const steps = (period, first, end, lost, tick, {told = true, beat = true} = {}) => {
	const times = [];
	for (let n = first, sequence = 0; n <= end + 1; n++, sequence++) {
		sequence += lost.find((l) => l.before_frame === n && n > first)?.frames ?? 0;
		times.push(sequence * period);
	}
	return placed({start: first, end, lost: told ? lost : []}, {timeOf: (n) => times[n - first] ?? NaN},
		beat ? period : 0, tick);
};
const hole = [{before_frame: 12, frames: 2, cause: ''}];
console.log(JSON.stringify([
	steps(16, 10, 13, [], 0),
	steps(16, 10, 13, hole, 0),
	steps(16, 10, 13, hole, 0, {told: false}), // the numbers of the frames have it alone
	steps(16, 10, 13, hole, 0, {beat: false}),
	steps(16, 10, 13, [{before_frame: 10, frames: 7, cause: ''}], 0), // before it begins
	steps(32, 10, 12, [], 16), // half as many frames as the other one
	steps(32, 10, 13, hole, 16),
	steps(40, 10, 13, [], 16),
	steps(16, 10, 11, [{before_frame: 11, frames: 1e15, cause: ''}], 0).length, // no file makes the page endless
	steps(16, 10, 11, [{before_frame: 11, frames: 1e15, cause: ''}], 8).length,
]));`
	var got []any
	inNode(t, script, &got)
	const want = "[[10 11 12 13] [10 11 -1 -1 12 13] [10 11 -1 -1 12 13] [10 11 -1 -1 12 13] [10 11 12 13] " +
		"[10 10 11 11 12 12] [10 10 11 -1 -1 -1 -1 -1 12 12 13 13] [10 10 10 11 11 12 12 12 13 13] 1 1]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}
