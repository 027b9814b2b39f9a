package crowd

import (
	"encoding/json"
	"math/rand/v2"
)

// mood is what a user makes of a question.
type mood int

const (
	willing mood = iota
	declining
	cancelling
	confused // the answer fits nothing
	refusing // the client answers with an error
	leaving  // there is no answer
)

// anyMood is willing most of the time.
func anyMood() mood {
	if rand.IntN(10) < 7 {
		return willing
	}
	return mood(1 + rand.IntN(int(leaving)))
}

// answer is the result with which a question is answered.
func answer(m mood, method string, params []byte) any {
	if m == confused {
		return []any{12345, map[string]any{"action": "accept", "content": map[string]any{"nobody": "asked"}}, map[string]any{"action": "perhaps"}, map[string]any{}}[rand.IntN(4)]
	}
	switch method {
	case "sampling/createMessage":
		return map[string]any{"role": "assistant", "content": map[string]any{"type": "text", "text": "In short: yes."}, "model": "crowd-1", "stopReason": "endTurn"}
	case "roots/list":
		return map[string]any{"roots": []any{map[string]any{"uri": "file:///home/ada", "name": "home"}}}
	}
	switch m {
	case declining:
		return map[string]any{"action": "decline"}
	case cancelling:
		return map[string]any{"action": "cancel"}
	}
	var form struct{ RequestedSchema *schema }
	if json.Unmarshal(params, &form) != nil || form.RequestedSchema == nil {
		return map[string]any{"action": "accept"} // of a URL
	}
	return map[string]any{"action": "accept", "content": form.RequestedSchema.object(*form.RequestedSchema)}
}

// answerAsMember is answer for a request of the legacy era.
func (s *soak) answerAsMember(method string, params []byte) string {
	s.tally.add("asked: " + method)
	switch m := anyMood(); m {
	case leaving:
		return ""
	case refusing:
		return `"error":{"code":-1,"message":"The user has refused."}`
	default:
		return `"result":` + encoded(answer(m, method, params))
	}
}
