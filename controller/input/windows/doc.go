// Package windows is input on Windows, by functions of the system: SendInput for keys, text,
// pointer and wheel, and InjectTouchInput for fingers. Its agent is a main that runs on the device.
// Package remote connects to it.
//
// encoder makes the system's structures of actions. It is plain Go and works everywhere. [New]
// makes a driver of it, on 64-bit Windows only.
//
// # Input
//
// Named keys are sent by their scan codes, like a keyboard's, so the device's layout makes
// characters of them. A key given by its character is pressed at its place in the layout of the
// options (default: US). Text is sent by its UTF-16 units, whatever the layout is, and without an
// input method. A line's end and a tabulator are the keys. Places are pixels of the primary screen.
// Touches come from a virtual touch screen of the system. It removes a finger without a report for
// 100 ms, so the driver repeats still ones.
//
// An interval begins before the call and ends after it: the system has queued the input then. The
// clock is the performance counter.
//
// # Limits
//
// The agent has to run in the session of the logged-in user, on the visible desktop. It cannot run
// as a service. It cannot reach the lock screen and the prompts of User Account Control. Windows of
// programs that run as administrator take its input only if it does too. Buttons are swapped if the
// mouse is set up for the left hand. The encoding is tested everywhere. The calls were compiled and
// vetted for Windows, but not tried on a real one.
//
// Sources: Microsoft's reference of winuser.h (INPUT, MOUSEINPUT, KEYBDINPUT; POINTER_TOUCH_INFO,
// SendInput; InitializeTouchInjection, InjectTouchInput); Keyboard Scan Code Specification, set 1.
package windows
