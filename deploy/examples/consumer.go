// Keeps a hash of posts from feedmill's events, through disconnects and crashes: no event is lost or handled twice.
//
//	consumer redis://feedmill_consumer:PASSWORD@localhost:6379/0 myapp:posts
//
// The titles that it keeps are plain text: escape them in a page.
//
// With Debian's golang-github-gomodule-redigo-dev: GO111MODULE=off GOPATH=/usr/share/gocode go build consumer.go
// Elsewhere: go mod init consumer && go get github.com/gomodule/redigo && go build
//
// The result is stored in the same Redis as the stream, so handling an event and acknowledging it are one transaction:
// it happens once or not at all. Events delivered earlier and not acknowledged are read first.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const stream, group, consumer = "stream:signals", "example-go", "one"

type event struct {
	Type     string `json:"type"`
	Seq      string `json:"seq"`
	EntityID string `json:"entity_id"`
	Data     struct {
		Title string `json:"title"`
	} `json:"data"`
}

func apply(server redis.Conn, target, id, text string) error {
	server.Send("MULTI")
	if text != "" { // else it was trimmed before we read it
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return fmt.Errorf("event %s: %w", id, err)
		}
		switch e.Type {
		case "post_created", "post_modified":
			server.Send("HSET", target, e.EntityID, e.Data.Title)
		case "post_deleted", "post_trimmed":
			server.Send("HDEL", target, e.EntityID)
		}
		server.Send("HINCRBY", target+":seen", e.Seq, 1)
	}
	server.Send("XACK", stream, group, id)
	answers, err := redis.Values(server.Do("EXEC")) // sends everything at once
	for _, answer := range answers {
		if refused, is := answer.(redis.Error); is {
			return refused
		}
	}
	return err
}

// records parses the reply of XREADGROUP for one stream: the ids, and the "json" of each, empty if the record was
// trimmed.
func records(reply interface{}, err error) (ids, texts []string, failure error) {
	streams, err := redis.Values(reply, err)
	if errors.Is(err, redis.ErrNil) {
		return nil, nil, nil // nothing came within BLOCK
	}
	if err != nil {
		return nil, nil, err
	}
	first, err := redis.Values(streams[0], nil)
	if err != nil {
		return nil, nil, err
	}
	list, err := redis.Values(first[1], nil)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range list {
		record, err := redis.Values(item, nil)
		if err != nil {
			return nil, nil, err
		}
		id, err := redis.String(record[0], nil)
		if err != nil {
			return nil, nil, err
		}
		fields, err := redis.StringMap(record[1], nil)
		if err != nil && !errors.Is(err, redis.ErrNil) {
			return nil, nil, err
		}
		ids, texts = append(ids, id), append(texts, fields["json"])
	}
	return ids, texts, nil
}

func follow(url, target string) error {
	server, err := redis.DialURL(url, redis.DialConnectTimeout(5*time.Second), redis.DialReadTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer server.Close()
	_, err = server.Do("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return err
	}
	for begin := "0"; ; {
		ids, texts, err := records(server.Do("XREADGROUP", "GROUP", group, consumer, "COUNT", 100, "BLOCK", 1000,
			"STREAMS", stream, begin))
		if err != nil {
			return err
		}
		if begin == "0" && len(ids) == 0 {
			begin = ">"
		}
		for i, id := range ids {
			if err := apply(server, target, id, texts[i]); err != nil {
				return err
			}
			fmt.Println(id)
		}
	}
}

func main() {
	if len(os.Args) != 3 || !strings.HasPrefix(os.Args[1], "redis") {
		fmt.Fprintln(os.Stderr, "usage: consumer REDIS_URL KEY")
		os.Exit(1)
	}
	for {
		fmt.Fprintln(os.Stderr, "trying again:", follow(os.Args[1], os.Args[2]))
		time.Sleep(200 * time.Millisecond)
	}
}
