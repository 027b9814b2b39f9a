package call

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
	"hatchel/runtime/stage/result"
)

const (
	// maxAuditedArguments is how many bytes of arguments a record has.
	maxAuditedArguments = 8 << 10
	// maxWrittenArguments is how many bytes of arguments are written at a time: a record of large arguments takes no
	// copy of them.
	maxWrittenArguments = 64 << 10
	// maxSensitiveTexts is how many bytes of sensitive inputs are looked for in other texts.
	maxSensitiveTexts = 16 << 10
)

// Texts that replace arguments.
const (
	// of arguments that cannot be read, so that nobody knows what in them is sensitive
	unreadableArguments = `"(no JSON object)"`
	// of arguments that were refused, so that they were not decoded
	refusedArguments = `"(not valid, and too large to be recorded)"`
	// of arguments whose sensitive inputs are too large to be looked for in the others
	withheldArguments = `"(withheld, because the sensitive inputs are large)"`
)

// withheldText replaces a text in which sensitive inputs cannot be looked for.
const withheldText = "(withheld, because the sensitive inputs of the call are large)"

// callArguments are what the caller of a call has sent, for those who may read about the call: without secrets and
// without sensitive inputs.
type callArguments struct {
	operation *Operation
	frame     *hcl.Frame // with the inputs, once these were read
	raw       []byte     // the arguments as they came; nil when they were not JSON
}

// recordedArguments are the arguments of a call as records have them: in full, or the beginning as a JSON string, with
// the size and the digest of all.
type recordedArguments struct {
	text   []byte
	size   int // 0 unless text is the beginning
	digest string
}

// record returns what the caller has sent, with sorted keys. It writes into an empty buffer, which it returns.
func (a callArguments) record(empty []byte) (r recordedArguments, buffer []byte) {
	given := any(a.frame.Input)
	if a.frame.Input == nil {
		if len(a.raw) == 0 {
			return r, empty
		}
		if len(a.raw) > maxWrittenArguments {
			r.text, r.size = append(empty, refusedArguments...), len(a.raw)
			return r, r.text
		}
		v, err := value.Decode(a.raw)
		if _, isObject := v.(map[string]any); err != nil || !isObject {
			r.text = append(empty, unreadableArguments...)
			return r, r.text
		}
		given = v
	}
	w := argumentWriter{env: a.operation.Env, b: empty}
	var t *schema.Type
	if a.operation.hasSensitiveInput {
		texts, ok := a.sensitiveTexts()
		if !ok {
			r.text = append(empty, withheldArguments...)
			return r, r.text
		}
		t, w.inputs = a.operation.Decl.Input, scrub.New(texts)
	}
	if err := w.append(given, t); err != nil {
		r.text = append(w.b[:0], unreadableArguments...)
		return r, r.text
	}
	return w.end(), w.b
}

// argumentWriter writes arguments without keeping them: when the buffer is full, it keeps the beginning, and the digest
// of what it has written.
type argumentWriter struct {
	env    *Environment
	b      []byte          // what was written last
	inputs *scrub.Scrubber // of the sensitive inputs; nil for none
	head   []byte          // the beginning; nil until the buffer was full
	size   int             // of what was written before b
	sum    hash.Hash       // of what was written before b
}

// append appends a value of a type; nil for one in which nothing is sensitive.
func (w *argumentWriter) append(v any, t *schema.Type) (err error) {
	if t != nil && t.Sensitive {
		v = hcl.Hidden
	}
	switch v := v.(type) {
	case map[string]any:
		w.b = append(w.b, '{')
		var few [16]string // on the stack
		for i, k := range value.AppendKeys(few[:0], v) {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.appendText(k)
			w.b = append(w.b, ':')
			if err := w.append(v[k], memberType(t, k)); err != nil {
				return err
			}
		}
		w.b = append(w.b, '}')
	case []any:
		var elem *schema.Type
		if t != nil {
			elem = t.Elem
		}
		w.b = append(w.b, '[')
		for i, e := range v {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			if err := w.append(e, elem); err != nil {
				return err
			}
		}
		w.b = append(w.b, ']')
	case string:
		w.appendText(v)
	default:
		w.b, err = value.AppendJSON(w.b, v)
	}
	if len(w.b) > maxWrittenArguments {
		w.flush(false)
	}
	return err
}

func memberType(t *schema.Type, name string) *schema.Type {
	if t == nil {
		return nil
	}
	return result.MemberType(t, name)
}

// appendText appends a text. A long one is written in parts.
func (w *argumentWriter) appendText(text string) {
	w.b = append(w.b, '"')
	for len(text) > maxWrittenArguments {
		end := cut.Before(text, maxWrittenArguments)
		w.b = jsonscan.AppendStringContent(w.b, text[:end])
		text = text[end:]
		w.flush(true)
	}
	w.b = append(jsonscan.AppendStringContent(w.b, text), '"')
}

// flush drops what was written from the buffer. Inside says that it ends inside a text.
func (w *argumentWriter) flush(inside bool) {
	if w.head == nil {
		w.sum = sha256.New()
		text := w.b
		if inside {
			text = append(text, '"') // so that it is scrubbed like any text
		}
		text = w.hide(text)
		end := cut.Before(text, min(maxAuditedArguments, len(text)))
		w.head = append(make([]byte, 0, end), text[:end]...)
		if inside {
			text = text[:len(text)-1]
		}
		w.count(text)
	} else {
		w.count(w.env.removeSignatures(w.env.Scrubber.Bytes(w.inputs.Bytes(w.b))))
	}
	w.b = w.b[:0]
}

func (w *argumentWriter) count(text []byte) {
	w.size += len(text)
	w.sum.Write(text)
}

// hide returns a JSON text without secrets, without the sensitive inputs, which others may repeat, and without the
// signatures of files.
func (w *argumentWriter) hide(text []byte) []byte {
	return w.env.removeSignatures(w.env.Scrubber.JSON(w.inputs.JSON(text)))
}

func (w *argumentWriter) end() (r recordedArguments) {
	if w.head == nil {
		text := w.hide(w.b)
		if len(text) <= maxAuditedArguments {
			r.text = text
			return r
		}
		sum := sha256.Sum256(text)
		r.size, r.digest = len(text), hex.EncodeToString(sum[:])
		r.text = cutArguments(text)
		return r
	}
	w.flush(false)
	r.size, r.digest = w.size, hex.EncodeToString(w.sum.Sum(nil))
	r.text = value.AppendString(nil, string(w.head))
	return r
}

// cutArguments returns the beginning of large arguments as a JSON string.
func cutArguments(arguments []byte) []byte {
	return value.AppendString(nil, string(arguments[:cut.Before(arguments, maxAuditedArguments)]))
}

// sensitiveTexts returns the values of the sensitive inputs, also of arguments that are not valid. It reports false if
// they are too large to be looked for.
func (a callArguments) sensitiveTexts() (texts []string, ok bool) {
	given := any(a.frame.Input)
	if a.frame.Input == nil {
		if len(a.raw) > maxWrittenArguments {
			return nil, false
		}
		given, _ = value.Decode(a.raw)
	}
	texts = result.SensitiveTexts(nil, given, a.operation.Decl.Input, false)
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	return texts, size <= maxSensitiveTexts
}

// hiddenTexts returns the values of the sensitive inputs, and what masks hide from the caller and a backend was sent.
// It reports false if they are too large to be looked for.
func (a callArguments) hiddenTexts() (texts []string, ok bool) {
	ok = true
	if a.operation.hasSensitiveInput {
		texts, ok = a.sensitiveTexts()
	}
	return append(texts, a.frame.Revealed.Texts()...), ok
}

// hide returns a text for a log without secrets and without the sensitive inputs of the call.
func (a callArguments) hide(text string) string {
	texts, ok := a.hiddenTexts()
	if !ok {
		return withheldText
	}
	for _, s := range texts {
		text = strings.ReplaceAll(text, s, hcl.Hidden)
	}
	return a.operation.Env.ScrubForReader(text)
}

// liftedText stands for a message that may quote what the caller may see and readers of records may not.
const liftedText = "(not recorded, because the caller may see values that are masked for others)"

// hideMessage is hideSent for a message about a call that has run, in a record.
func (a callArguments) hideMessage(text string) string {
	if text != "" && a.frame != nil && len(a.frame.Lifted) > 0 {
		return liftedText
	}
	return a.hideSent(text)
}

// hideSent is hide for a text that is sent, in which inputs may be encoded.
func (a callArguments) hideSent(text string) string { return a.sentHider()(text) }

// sentHider returns hideSent for many texts.
func (a callArguments) sentHider() func(string) string {
	texts, ok := a.hiddenTexts()
	switch {
	case !ok:
		return func(string) string { return withheldText }
	case len(texts) == 0:
		return a.hide
	}
	encoded := scrub.New(texts)
	return func(text string) string { return a.hide(encoded.Text(text)) }
}
