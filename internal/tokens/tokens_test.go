package tokens

import (
	"math"
	"strings"
	"testing"
)

// measured are texts with their exact number of tokens in o200k_base.
var measured = []struct {
	name, text string
	tokens     int
	within     float64
}{
	{"a tool", `{"name":"sync_order","title":"Sync an order","description":"Copy one paid order from the shop into the ledger. ` +
		`The invoice number is returned; an order that is not paid is refused.","inputSchema":{"type":"object","properties":` +
		`{"id":{"type":"integer","minimum":1,"description":"Number of the order, as find_orders returns it"},"currency":` +
		`{"type":"string","enum":["EUR","USD","CHF"],"default":"EUR"},"due":{"type":"string","format":"date"}},"required":["id"],` +
		`"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true}}`, 135, 0.05},
	{"English", "List the invoices of one customer, newest first. At most 50 are returned; the answer says whether there are more. " +
		"Use it to find the number of an invoice that get_invoice needs.", 39, 0.08},
	{"German", "Listet die Rechnungen eines Kunden auf, die neuesten zuerst. Höchstens fünfzig werden zurückgegeben; die Antwort sagt, " +
		"ob es weitere gibt.", 31, 0.35},
	{"French", "Renvoie les factures d'un client, les plus récentes d'abord. La réponse indique s'il en existe d'autres.", 26, 0.25},
	{"Russian", "Возвращает счета одного клиента, сначала самые новые. Ответ сообщает, есть ли ещё счета.", 19, 0.25},
	{"Greek", "Επιστρέφει τα τιμολόγια ενός πελάτη, πρώτα τα πιο πρόσφατα. Η απάντηση λέει αν υπάρχουν κι άλλα.", 35, 0.25},
	{"Arabic", "تعرض فواتير عميل واحد، الأحدث أولا. ويبين الجواب ما إذا كانت هناك فواتير أخرى.", 27, 0.25},
	{"Hebrew", "מציג את החשבוניות של לקוח אחד, החדשות ביותר תחילה. התשובה מציינת אם יש עוד.", 27, 0.25},
	{"Hindi", "एक ग्राहक के बिल दिखाता है, सबसे नए पहले। उत्तर बताता है कि और बिल हैं या नहीं।", 23, 0.25},
	{"Thai", "แสดงใบแจ้งหนี้ของลูกค้าหนึ่งราย เรียงจากใหม่สุด คำตอบบอกว่ามีเพิ่มเติมหรือไม่", 30, 0.25},
	{"Chinese", "列出一个客户的发票，最新的在前。最多返回五十张；结果会说明是否还有更多。", 26, 0.25},
	{"Japanese", "一人の顧客の請求書を新しい順に一覧表示します。最大五十件を返し、続きがあるかどうかを示します。", 38, 0.25},
	{"Korean", "한 고객의 청구서를 최신순으로 나열합니다. 최대 오십 건을 반환하며 더 있는지 알려 줍니다.", 28, 0.25},
}

func TestAnEstimateIsCloseToWhatATokenizerCounts(t *testing.T) {
	for _, m := range measured {
		got := Estimate(m.text)
		if off := math.Abs(float64(got)/float64(m.tokens) - 1); off > m.within {
			t.Errorf("%s: ≈ %d tokens of %d, %.0f %% off", m.name, got, m.tokens, 100*off)
		}
	}
}

func TestAnEstimateOfPartsAddsUp(t *testing.T) {
	sum, all := 0, ""
	for _, m := range measured {
		sum, all = sum+Estimate(m.text+"\n"), all+m.text+"\n"
	}
	if got := Estimate(all); math.Abs(float64(got-sum)) > float64(len(measured)) {
		t.Errorf("≈ %d tokens, and ≈ %d of the parts", got, sum)
	}
}

func TestAnyBytesHaveAnEstimate(t *testing.T) {
	for text, want := range map[string]int{"": 0, " ": 1, "a": 1, "\xff\xfe": 2, "\U000E0041": 2, "🎉": 2, "ﷺ": 1} {
		if got := Estimate(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	long := strings.Repeat("é\xff1{", 1000)
	if n := testing.AllocsPerRun(5, func() { Estimate(long) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEstimate(b *testing.B) {
	text := strings.Repeat(measured[0].text, 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Estimate(text)
	}
}
