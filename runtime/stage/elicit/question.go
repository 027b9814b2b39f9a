package elicit

import (
	"crypto/rand"
	"strconv"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// Question returns an ask as the request that the client gets.
func (x *Exchange) Question(a *hcl.Ask, f *hcl.Frame) (mcp.Question, error) {
	q := mcp.Question{Key: a.Key}
	var err error
	switch backend := x.backend[a.Key]; {
	case backend != nil && a.Sample != nil:
		q.Method, q.Params = "sampling/createMessage", x.backendParams(backend, "")
	case backend != nil:
		q.Method, q.Params = "elicitation/create", x.backendParams(backend, x.invalid[a.Key])
	case a.Sample != nil:
		q.Method = "sampling/createMessage"
		q.Params, err = x.samplingParams(a.Sample, f)
	case a.Roots != nil:
		q.Method, q.Params = "roots/list", []byte("{}")
	default:
		q.Method = "elicitation/create"
		q.Params, err = x.elicitationParams(a, f)
	}
	if err != nil {
		return q, failure.AsFault(err)
	}
	q.Params = appendTrace(result.NewRedactor(x.writer.Scrubber, f.Detect).JSON(q.Params), x.call.Traceparent())
	return q, nil
}

// appendTrace adds the trace context of a call, empty for none, to the params of a request, an object.
func appendTrace(params []byte, traceparent string) []byte {
	if traceparent == "" {
		return params
	}
	params = params[:len(params)-1]
	if len(params) > 1 {
		params = append(params, ',')
	}
	return append(value.AppendString(append(params, `"_meta":{"traceparent":`...), traceparent), "}}"...)
}

func (x *Exchange) elicitationParams(a *hcl.Ask, f *hcl.Frame) ([]byte, error) {
	text, err := a.Elicit.Message.Append(nil, f)
	if err != nil {
		return nil, err
	}
	var url []byte
	if a.Elicit.URL != nil {
		if url, err = a.Elicit.URL.Bind(f, nil); err != nil {
			return nil, err
		}
	}
	return x.appendElicitation(nil, string(text), x.invalid[a.Key], string(url), a.Elicit.AppendSchema), nil
}

// appendElicitation appends the params of elicitation/create: of a page if there is a URL, otherwise of the form that
// appendSchema appends. Invalid says why the question is asked again; empty for the first time.
func (x *Exchange) appendElicitation(
	dst []byte, message, invalid, url string, appendSchema func([]byte) []byte,
) []byte {
	if invalid != "" {
		message += "\n\nThe last answer is not valid: " + invalid + "."
	}
	dst = value.AppendString(append(dst, `{"message":`...), message)
	if url == "" {
		return append(appendSchema(append(dst, `,"mode":"form","requestedSchema":`...)), '}')
	}
	dst = value.AppendString(append(dst, `,"mode":"url","url":`...), url)
	if !x.Caller.Revision.Modern() {
		dst = value.AppendString(append(dst, `,"elicitationId":`...), rand.Text())
	}
	return append(dst, '}')
}

func (x *Exchange) samplingParams(s *hcl.Sample, f *hcl.Frame) ([]byte, error) {
	dst, err := x.writer.AppendMessages([]byte(`{"messages":`), s.Messages, f)
	if err != nil {
		return nil, err
	}
	dst = strconv.AppendInt(append(dst, `,"maxTokens":`...), int64(s.MaxTokens), 10)
	if s.System != nil {
		text, err := s.System.Append(nil, f)
		if err != nil {
			return nil, err
		}
		dst = value.AppendString(append(dst, `,"systemPrompt":`...), string(text))
	}
	dst = appendNumber(dst, "temperature", s.Temperature)
	if len(s.Stop) > 0 {
		dst = mcp.AppendStrings(append(dst, `,"stopSequences":`...), s.Stop)
	}
	dst = mcp.AppendMember(dst, "includeContext", s.Include)
	return append(appendPreferences(dst, s), '}'), nil
}

// appendPreferences appends the preferences about the model, if there are any.
func appendPreferences(dst []byte, s *hcl.Sample) []byte {
	if len(s.Models) == 0 && s.Cost == nil && s.Speed == nil && s.Intelligence == nil {
		return dst
	}
	dst = append(dst, `,"modelPreferences":{"hints":[`...)
	for i, name := range s.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(value.AppendString(append(dst, `{"name":`...), name), '}')
	}
	dst = append(dst, ']')
	dst = appendNumber(dst, "costPriority", s.Cost)
	dst = appendNumber(dst, "speedPriority", s.Speed)
	dst = appendNumber(dst, "intelligencePriority", s.Intelligence)
	return append(dst, '}')
}

func appendNumber(dst []byte, key string, n *float64) []byte {
	if n == nil {
		return dst
	}
	return append(append(append(append(dst, `,"`...), key...), `":`...), value.FormatFloat(*n)...)
}
