package windows

// The structures of winuser.h as compilers for 64 bits lay them out. Handles are always 0 here.

// inputRecord is INPUT, of a mouse or a keyboard: a kind, and the union as its bytes.
type inputRecord struct {
	Kind uint32
	_    uint32
	Data [32]byte
}

// The kinds of inputRecord.
const (
	kindMouse    = 0
	kindKeyboard = 1
)

// The flags of KEYBDINPUT.
const (
	keyExtended = 0x1
	keyRelease  = 0x2
	keyUnicode  = 0x4
	keyScanCode = 0x8
)

// The flags of MOUSEINPUT.
const (
	mouseMove     = 0x1
	mouseWheel    = 0x800
	mouseHWheel   = 0x1000
	mouseAbsolute = 0x8000
)

// contact is POINTER_TOUCH_INFO.
type contact struct {
	Type           uint32 // of POINTER_INFO from here on
	ID             uint32
	Frame          uint32
	Flags          uint32
	_              [2]uint64 // source device and window
	Pixel          point
	_              [3]point // in other units, and before prediction
	Time           uint32
	History        uint32
	InputData      int32
	KeyStates      uint32
	PerformanceCnt uint64
	ButtonChange   uint32
	_              uint32
	TouchFlags     uint32 // of POINTER_TOUCH_INFO from here on
	TouchMask      uint32
	Area           rect
	AreaRaw        rect
	Orientation    uint32
	Pressure       uint32
}

// point is POINT, and rect RECT.
type (
	point struct{ X, Y int32 }
	rect  struct{ Left, Top, Right, Bottom int32 }
)

// The flags of POINTER_INFO.
const (
	typeTouch       = 2
	pointerInRange  = 0x2
	pointerContact  = 0x4
	pointerDown     = 0x10000
	pointerUpdate   = 0x20000
	pointerUp       = 0x40000
	maskArea        = 0x1
	maskOrientation = 0x2
	maskPressure    = 0x4
)
