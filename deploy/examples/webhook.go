// Receives webhooks: WEBHOOK_SECRET=whsec_… go run webhook.go PORT. Needs only Go.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// isSigned reports whether the request was signed with the secret within the last five minutes.
func isSigned(key []byte, header http.Header, body []byte) bool {
	id, sentAt := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-seconds)) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, sentAt, body)
	wanted := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(wanted)) {
			return true
		}
	}
	return false
}

const most = 4 << 20 // bytes of a body; an event has fewer

func main() {
	if len(os.Args) != 2 || os.Getenv("WEBHOOK_SECRET") == "" {
		log.Fatal("usage: WEBHOOK_SECRET=whsec_… webhook PORT")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		log.Fatal(err)
	}
	var mutex sync.Mutex
	seen := map[string]bool{} // in your database, written together with your handling of the event
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if !isSigned(key, r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		var event struct {
			Type string
			Data map[string]any
		}
		if id := r.Header.Get("webhook-id"); !seen[id] && json.Unmarshal(body, &event) == nil {
			fmt.Println(event.Type, event.Data["entity_id"]) // your handling
			seen[id] = true
		}
		w.WriteHeader(http.StatusNoContent)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(receive)))
}
