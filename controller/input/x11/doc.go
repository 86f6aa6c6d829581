// Package x11 is the input driver of X11 displays: keys, text and pointer, buttons and wheel. It
// uses the XTEST extension, so applications see input like that of hardware.
//
// It is a driver of package input. Windows cannot distinguish the server's events from those of a
// keyboard. XTEST has no fingers. Use uinput or hid for touch.
//
// # Times
//
// Simultaneous actions leave in one write. A request goes along, which the server answers after it
// has executed them. The interval is from before that write to the answer: the server made its
// events within. A key for a character, if necessary, is prepared before the actions are due.
//
// # Keys
//
// The server's own mapping is read through XKB, on a connection of its own, with its groups, levels
// and modifiers. It is read again when the server reports a change. A named key that types a
// character is a place. Other named keys are meanings. A character is pressed on the key that types
// it in the current state. Shift, AltGr or a switch of groups are used if necessary. The characters
// are those that windows will look up.
//
// A character without a key borrows an unused keycode. It is written to the server's mapping before
// it is pressed, so every client gets the change before the key. But clients look up a key's
// meaning later, in their own time. So a borrowed keycode is kept until the window with the
// keyboard has answered a ping. It reads the ping after the keys. The ping is _NET_WM_PING of the
// Extended Window Manager Hints. Windows without pings get a pause instead, [grace]. A window may
// get changes on one connection and keys on another, like Chromium, in which GTK looks keys up. So
// a ping is also sent before a borrowed key is pressed.
//
// # Input methods
//
// Keys go through a window's input method, like those of a keyboard. A dead key or Compose is
// pressed at its place in the layout, or borrows a keycode. The window combines it with the next
// key; the toolkits of Chromium and Firefox do so by themselves. Text is never typed by dead keys.
// A character without a key borrows one, which composing methods leave alone.
//
// IBus and Fcitx answer a window about each key, and the window continues meanwhile. So keys that
// arrive at once may overtake each other. The driver does not wait for input methods: text needs a
// display without one. Displays and browsers that are started for a run have none.
//
// # Cleaning up
//
// Close lifts held keys and returns borrowed keycodes. A server keeps both when a client is
// disconnected. So the driver leaves a note of its borrowed keycodes on the root window. The next
// driver on the display cleans up. A display has one driver at a time: two hands on one keyboard
// would mix their text.
package x11
