// A stand-in for NCCL, without a GPU and without other ranks: it writes down what it is told, and
// answers as a test has set it. What NCCL does not allow it writes down as "misuse".

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

enum { success = 0, invalid_usage = 5, in_progress = 7 };

struct UniqueId {
    char bytes[128];
};

struct Config {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
    int cga_cluster_size;
    int min_ctas;
    int max_ctas;
    const char* net_name;
    int split_share;
};

struct Comm {
    // How many times it will still say that it is in progress; for ever if negative.
    int pending = 0;
    // The thread that has begun what has not been joined.
    std::thread::id worker;
    bool has_ended = false;
};

std::mutex lock;
std::map<std::string, int> settings;
std::string log;
int calls_in_group = 0;
thread_local int group_depth = 0;

int setting(const char* name) {
    std::lock_guard<std::mutex> guard(lock);
    return settings[name];
}

void note(const std::string& line) {
    std::lock_guard<std::mutex> guard(lock);
    log += line + "\n";
}

std::string number(unsigned long long value) { return std::to_string(value); }

// Begins work in the background, in a communicator that has none.
int begin(Comm* comm, const char* polls) {
    if (comm->has_ended || comm->worker != std::thread::id()) note("misuse: not ready");
    comm->pending = setting(polls);
    comm->worker = std::this_thread::get_id();
    return comm->pending ? in_progress : success;
}

// A call that may hang, until the test sets it free.
void hang(const char* name) {
    if (!setting(name)) return;
    note("hangs");
    while (setting(name)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    note("free");
}

int end(Comm* comm) {
    if (comm->has_ended) note("misuse: ended twice");
    comm->has_ended = true;
    return success;
}

int in_group(const char* line, const void* address, size_t count, int type, int peer, Comm* comm,
             void* stream) {
    if (group_depth == 0) note("misuse: no group");
    if (comm->has_ended || comm->worker != std::thread::id()) note("misuse: not ready");
    if (setting("fail_at") && ++calls_in_group >= setting("fail_at")) return setting("code");
    note(line + number(count) + " of type " + number(unsigned(type)) + ", peer " +
         number(unsigned(peer)) + ", at " + number(reinterpret_cast<size_t>(address)) +
         ", stream " + number(reinterpret_cast<size_t>(stream)));
    return success;
}

Comm* of_group = nullptr;

// What the last communicator's thread stores when it ends, and where.
Comm* last = nullptr;
Comm** place = nullptr;

}  // namespace

extern "C" {

void fake_set(const char* name, int value) {
    std::lock_guard<std::mutex> guard(lock);
    settings[name] = value;
}

size_t fake_log(char* text, size_t room) {
    std::lock_guard<std::mutex> guard(lock);
    if (log.size() <= room) std::memcpy(text, log.data(), log.size());
    return log.size();
}

// The end of the thread that joins the other ranks, later than anyone waits for it. Returns where
// it has stored the communicator.
Comm** fake_end_init() {
    *place = last;
    return place;
}

int ncclGetVersion(int* version) {
    *version = setting("version") ? setting("version") : 22803;
    return success;
}

int ncclGetUniqueId(UniqueId* id) {
    for (int k = 0; k < 128; ++k) id->bytes[k] = char(k);
    return setting("id");
}

int ncclCommInitRankConfig(Comm** out, int ranks, UniqueId id, int rank, Config* config) {
    for (int k = 0; k < 128; ++k) {
        if (id.bytes[k] != char(k)) note("misuse: id");
    }
    if (config->size != sizeof(Config) || config->magic != 0xcafebeef ||
        config->version < 21400 || config->version > 21900 || config->blocking != 0 ||
        config->cga_cluster_size != INT_MIN || config->min_ctas != INT_MIN ||
        config->max_ctas != INT_MIN || config->net_name || config->split_share != INT_MIN) {
        note("misuse: config");
    }
    note("init " + number(unsigned(rank)) + " of " + number(unsigned(ranks)));
    if (setting("init")) return setting("init");
    *out = new Comm;
    last = *out;
    place = out;
    return begin(*out, "init_polls");
}

int ncclCommGetAsyncError(Comm* comm, int* code) {
    if (comm->has_ended) note("misuse: asked after the end");
    *code = setting("status");
    if (*code == success && comm->pending) {
        if (comm->pending > 0) --comm->pending;
        *code = in_progress;
    }
    return success;
}

int ncclCommUserRank(Comm* comm, int*) {
    if (comm->has_ended || comm->pending) note("misuse: not ready");
    if (comm->worker != std::thread::id() && comm->worker != std::this_thread::get_id()) {
        note("misuse: joined by another thread");
    }
    comm->worker = std::thread::id();
    return success;
}

int ncclCommFinalize(Comm* comm) {
    note("finalize");
    return begin(comm, "finalize_polls");
}

int ncclCommDestroy(Comm* comm) {
    note("destroy");
    hang("destroy_hangs");
    if (comm->pending) note("misuse: not ready");
    return end(comm);
}

int ncclCommAbort(Comm* comm) {
    note("abort");
    hang("abort_hangs");
    return end(comm);
}

int ncclGroupStart() {
    note("start");
    if (setting("start")) return setting("start");
    ++group_depth;
    calls_in_group = 0;
    of_group = nullptr;
    return success;
}

int ncclGroupEnd() {
    note("end");
    if (group_depth-- == 0) return invalid_usage;
    if (setting("end")) return setting("end");
    return of_group ? begin(of_group, "end_polls") : int(success);
}

#ifndef WITHOUT_SEND
int ncclSend(const void* from, size_t count, int type, int peer, Comm* comm, void* stream) {
    of_group = comm;
    return in_group("send ", from, count, type, peer, comm, stream);
}
#endif

int ncclRecv(void* to, size_t count, int type, int peer, Comm* comm, void* stream) {
    of_group = comm;
    return in_group("receive ", to, count, type, peer, comm, stream);
}

int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* comm, void* stream) {
    note("gather " + number(count) + " of type " + number(unsigned(type)) + ", from " +
         number(reinterpret_cast<size_t>(from)) + " to " + number(reinterpret_cast<size_t>(to)) +
         ", stream " + number(reinterpret_cast<size_t>(stream)));
    return begin(comm, "end_polls");
}

}  // extern "C"
