// The texts of scripts/*.lua, each with the prelude (and of the deliver half and of the checks: their own) behind its
// first line.
#pragma once

namespace feedmill::scripts {

extern const char* const add;
extern const char* const channel_add;
extern const char* const channel_expire;
extern const char* const channel_follow;
extern const char* const channel_mark;
extern const char* const channel_order;
extern const char* const channel_prune;
extern const char* const channel_remove;
extern const char* const channel_unfollow;
extern const char* const claim;
extern const char* const commit;
extern const char* const deliver_lock;
extern const char* const deliver_notices;
extern const char* const deliver_posts;
extern const char* const export_feed;
extern const char* const entry_remove;
extern const char* const entry_save;
extern const char* const expire;
extern const char* const feed_page;
extern const char* const feed_signals;
extern const char* const follow;
extern const char* const groups;
extern const char* const hosts;
extern const char* const import_feed;
extern const char* const look_up;
extern const char* const move;
extern const char* const notify_edit;
extern const char* const pause;
extern const char* const ping;
extern const char* const posts;
extern const char* const probe;
extern const char* const release;
extern const char* const remove;
extern const char* const repair;
extern const char* const resume;
extern const char* const settings;
extern const char* const slot;
extern const char* const unspread;
extern const char* const verify_channel;
extern const char* const verify_feed;
extern const char* const verify_keys;
extern const char* const verify_store;
extern const char* const wake;
extern const char* const watch;
extern const char* const websub_begin;
extern const char* const websub_claim;
extern const char* const websub_deliver;
extern const char* const websub_settle;
extern const char* const websub_take;
extern const char* const websub_turn;
extern const char* const websub_verify;

}  // namespace feedmill::scripts
