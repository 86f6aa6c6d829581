// Package windows is input on Windows, by the functions that the system has for it: SendInput for
// keys, text, pointer, buttons and wheel, and InjectTouchInput for fingers. Its agent is a main
// that runs on the device and is spoken to by package remote.
//
// Place in the flow: encoder makes the structures that the system takes, of actions, and is plain
// Go that works everywhere; [New] makes a driver of it, on Windows of 64 bits only.
//
// # What is sent
//
// Named keys are told by their scan codes, as a keyboard tells them, so the device's layout makes
// characters of them; a key that is given by its character is pressed where the layout of the
// options has it, that of the US by default. Text is told by its UTF-16 units, whatever the layout
// is, and without an input method; a line's end and a tabulator are the keys. Places are pixels of
// the primary screen. Touches come from a touch screen that the system makes up; it takes a finger
// away that is not told of for 100 ms, so the driver repeats those that lie still.
//
// An interval begins before the call and ends after it: the system has queued the input then. The
// clock is the performance counter.
//
// # Limits
//
// The agent has to run in the session of the user who is logged in, on the desktop that is shown:
// not as a service, and it cannot reach the lock screen and the prompts of User Account Control.
// Windows of programs that run as administrator take its input only if it does too. Buttons are
// exchanged where the mouse is set up for the left hand. What is encoded is tested everywhere; the
// calls were compiled and vetted for Windows, but have been tried on no real one yet.
//
// Sources: Microsoft's reference of winuser.h (INPUT, MOUSEINPUT, KEYBDINPUT, POINTER_TOUCH_INFO,
// SendInput, InitializeTouchInjection, InjectTouchInput); Keyboard Scan Code Specification, set 1.
package windows
