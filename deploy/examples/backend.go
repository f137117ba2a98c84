// A web backend: users subscribe to feeds, read new posts, and unsubscribe. It needs only a Redis client.
//
//	backend redis://feedmill_app:PASSWORD@localhost:6379/0 8080
//
//	curl -X PUT 'http://localhost:8080/anna?url=https://example.org/feed.xml'       anna subscribes
//	curl http://localhost:8080/anna                                                 her feeds, and her newest posts
//	curl -X DELETE 'http://localhost:8080/anna?url=https://example.org/feed.xml'    she unsubscribes
//
// With Debian's golang-github-gomodule-redigo-dev: GO111MODULE=off GOPATH=/usr/share/gocode go build backend.go
// Elsewhere: go mod init backend && go get github.com/gomodule/redigo && go build
//
// The application's own data and its request to feedmill are one transaction. So are a request's outcome and the
// position up to which events have been read. Whatever is killed, and whenever: each request is executed once, and its
// answer recorded. A feed that cannot be read is shown as such: the user may have mistyped its address.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const app = "myapp"

type subscription struct{ User, URL string }

type event struct {
	Type string `json:"type"`
	App  string `json:"app"`
	Ref  string `json:"ref"`
	Feed string `json:"feed_url"`
	Data struct {
		Op     string `json:"op"`
		State  string `json:"state"`
		Reason string `json:"reason"`
		First  bool   `json:"first"`
	} `json:"data"`
}

// exec ends a transaction and returns an error if any of its commands failed.
func exec(server redis.Conn) error {
	answers, err := redis.Values(server.Do("EXEC")) // sends everything at once
	for _, answer := range answers {
		if refused, is := answer.(redis.Error); is {
			return refused
		}
	}
	return err
}

func ask(pool *redis.Pool, asked subscription, op string) (err error) {
	random := make([]byte, 16)
	if _, err = rand.Read(random); err != nil {
		return err
	}
	ref := fmt.Sprintf("%x", random)
	state := map[string]string{"add": "asked", "channel_unfollow": "leaving"}[op]
	text, _ := json.Marshal(asked)
	for tries := 0; tries < 10; tries++ { // the reply may get lost: with the same ref, the request is still executed once
		server := pool.Get()
		server.Send("MULTI")
		server.Send("HSET", app+":feeds:"+asked.User, asked.URL, state)
		server.Send("HSET", app+":asked", ref, text)
		server.Send("XADD", "stream:requests", "*", "op", op, "url", asked.URL, "channel", asked.User+"/news",
			"app", app, "ref", ref)
		err = exec(server)
		server.Close()
		if err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// note records the outcome of one of our requests, and that events have been read up to here.
func note(server redis.Conn, e event, seen string) error {
	text, err := redis.Bytes(server.Do("HGET", app+":asked", e.Ref))
	if errors.Is(err, redis.ErrNil) {
		return nil // recorded already
	} else if err != nil {
		return err
	}
	var asked subscription
	if err := json.Unmarshal(text, &asked); err != nil {
		return err
	}
	row := app + ":feeds:" + asked.User
	server.Send("MULTI")
	switch {
	case e.Data.Op == "channel_unfollow":
		server.Send("HDEL", row, asked.URL, e.Feed)
	case e.Type == "request_done":
		server.Send("HDEL", row, asked.URL)
		server.Send("HSET", row, e.Feed, "subscribed") // the canonical form of the address
	default:
		server.Send("HSET", row, asked.URL, "refused: "+e.Data.Reason)
	}
	server.Send("HDEL", app+":asked", e.Ref)
	server.Send("SET", app+":seen", seen)
	return exec(server)
}

// noteFeed records why a feed cannot be read, until it can be again, and that events have been read up to here.
func noteFeed(server redis.Conn, e event, seen string) error {
	why := fmt.Sprintf("%s (%s)", e.Data.State, e.Data.Reason)
	if e.Data.First {
		why = fmt.Sprintf("never read, is the address right? (%s)", e.Data.Reason)
	}
	server.Send("MULTI")
	switch e.Type {
	case "feed_failing", "feed_gone":
		server.Send("HSET", app+":failing", e.Feed, why)
	case "feed_created", "feed_recovered", "feed_removed":
		server.Send("HDEL", app+":failing", e.Feed)
	}
	server.Send("SET", app+":seen", seen)
	return exec(server)
}

// read records what these stream records say of our requests and of feeds, and returns the id of the last record.
func read(server redis.Conn, records []interface{}) (seen string, err error) {
	for _, record := range records {
		var values []interface{}
		if _, err := redis.Scan(record.([]interface{}), &seen, &values); err != nil {
			return "", err
		}
		fields, err := redis.StringMap(values, nil)
		if err != nil {
			return "", err
		}
		isRequest, isFeed := strings.HasPrefix(fields["type"], "request_"), strings.HasPrefix(fields["type"], "feed_")
		if !isRequest && !isFeed {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(fields["json"]), &e); err != nil {
			return "", err
		}
		if isFeed {
			err = noteFeed(server, e, seen)
		} else if e.App == app {
			err = note(server, e, seen)
		}
		if err != nil {
			return "", err
		}
	}
	return seen, nil
}

func follow(pool *redis.Pool) error {
	server := pool.Get()
	defer server.Close()
	seen, err := redis.String(server.Do("GET", app+":seen"))
	if errors.Is(err, redis.ErrNil) {
		seen = "0-0"
	} else if err != nil {
		return err
	}
	for {
		streams, err := redis.Values(server.Do("XREAD", "COUNT", 1000, "BLOCK", 1000, "STREAMS", "stream:signals", seen))
		if errors.Is(err, redis.ErrNil) {
			continue // nothing came within BLOCK
		} else if err != nil {
			return err
		}
		var records []interface{}
		if _, err := redis.Scan(streams[0].([]interface{}), nil, &records); err != nil {
			return err
		}
		if seen, err = read(server, records); err != nil {
			return err
		}
		if _, err := server.Do("SET", app+":seen", seen); err != nil {
			return err
		}
	}
}

type post struct {
	TitleHTML string `json:"title_html"`
	Link      string `json:"link"`
}

// asHTML escapes what is not HTML, or was not sanitised: posts come from strangers.
func asHTML(text, kind, sanVer string) string {
	if (kind == "text/html" || kind == "application/xhtml+xml") && sanVer != "0" {
		return text
	}
	return html.EscapeString(text)
}

func page(pool *redis.Pool, user string) (map[string]interface{}, error) {
	server := pool.Get()
	defer server.Close()
	feeds, err := redis.StringMap(server.Do("HGETALL", app+":feeds:"+user))
	if err != nil {
		return nil, err
	}
	for url, state := range feeds {
		why, err := redis.String(server.Do("HGET", app+":failing", url))
		if err == nil && state == "subscribed" {
			feeds[url] = why
		} else if err != nil && !errors.Is(err, redis.ErrNil) {
			return nil, err
		}
	}
	entries, err := redis.Strings(server.Do("ZREVRANGE", "zchannel:"+user+"/news:posts", 0, 19))
	posts := []post{}
	for _, entry := range entries {
		fields, err := redis.StringMap(server.Do("HGETALL", entry))
		if err != nil {
			return nil, err
		}
		posts = append(posts, post{asHTML(fields["title"], fields["title_type"], fields["san_ver"]), fields["link"]})
	}
	return map[string]interface{}{"feeds": feeds, "posts": posts}, err
}

var fit = regexp.MustCompile("^/[a-z0-9]{1,50}$")

func answer(pool *redis.Pool, response http.ResponseWriter, request *http.Request) {
	user, url := strings.TrimPrefix(request.URL.Path, "/"), request.URL.Query().Get("url")
	op := map[string]string{"PUT": "add", "DELETE": "channel_unfollow"}[request.Method]
	if !fit.MatchString(request.URL.Path) || (op == "") != (request.Method == "GET") || (op != "" && url == "") {
		http.Error(response, "bad request", http.StatusBadRequest)
		return
	}
	status, value := http.StatusAccepted, map[string]interface{}{}
	var err error
	if op != "" {
		err = ask(pool, subscription{user, url}, op)
	} else {
		status = http.StatusOK
		value, err = page(pool, user)
	}
	if err != nil {
		http.Error(response, err.Error(), http.StatusServiceUnavailable)
		return
	}
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	json.NewEncoder(response).Encode(value)
}

func main() {
	if len(os.Args) != 3 || !strings.HasPrefix(os.Args[1], "redis") {
		fmt.Fprintln(os.Stderr, "usage: backend REDIS_URL PORT")
		os.Exit(1)
	}
	pool := &redis.Pool{MaxIdle: 8, Dial: func() (redis.Conn, error) {
		return redis.DialURL(os.Args[1], redis.DialConnectTimeout(5*time.Second), redis.DialReadTimeout(10*time.Second))
	}}
	go func() {
		for {
			fmt.Fprintln(os.Stderr, "trying again:", follow(pool))
			time.Sleep(200 * time.Millisecond)
		}
	}()
	handler := func(response http.ResponseWriter, request *http.Request) { answer(pool, response, request) }
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(handler)))
	os.Exit(1)
}
