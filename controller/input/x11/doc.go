// Package x11 is the hand that a display of X11 lends: keys, text, pointer, buttons and wheel
// through the XTEST extension.
//
// Place in the flow: a driver of package input. The server makes events of what it is told, which
// windows cannot tell from those of a keyboard. XTEST has no fingers: touch is a matter for uinput
// and hid.
//
// # Time
//
// What is done together leaves in one write, and a question goes along that the server answers
// after it has done the rest. The interval is from before that write to the answer: the server made
// its events within. What the actions need besides, a key for a character, is prepared before the
// time at which they are due.
//
// # Keys
//
// The server's own mapping is read through XKB, on a connection of its own, with its groups, levels
// and modifiers, and again when the server says that it has changed. A named key that types a
// character is a place, the others are what they mean. A character is pressed on the key that types
// it with whatever is held and locked now, together with Shift, AltGr or a switch of groups; the
// characters are those that windows will look up.
//
// A character that no key types is lent a keycode that nobody uses. It is written to the server's
// mapping before it is pressed, so every client is told of it before the key arrives. Clients look
// up what a key means later, though, in their own time: so a lent keycode is given to another
// character, or taken back, only after the window that has the keyboard has answered a ping
// (_NET_WM_PING of the Extended Window Manager Hints), which it reads after the keys. Windows that
// know no ping are given a pause instead, [grace]. And they may be told on one connection and get
// the keys on another, as Chromium, which has GTK look keys up: so the ping is sent before what was
// lent is pressed, too.
//
// # Input methods
//
// Keys go through whatever input method a window has, as those of a keyboard do. A dead key or
// Compose is pressed where the layout has it, or lent a keycode, and the window puts what follows
// together with it: the toolkits of Chromium and Firefox do so by themselves. Text is never typed
// by dead keys: a character that is on no key is lent one, which composing methods leave alone.
//
// IBus and Fcitx answer a window about each key, and the window continues meanwhile. So keys that
// arrive at once may overtake each other. The driver does not wait for input methods: text needs a
// display without one. Displays and browsers that are started for a run have none.
//
// # What is left behind
//
// Close lifts what is held and takes back what was lent. A server keeps both when a client is cut
// off, so the driver leaves a note of what it has lent on the root window, and who opens the
// display next cleans up. One driver has a display at a time: two hands on one keyboard would type
// into each other's words.
package x11
