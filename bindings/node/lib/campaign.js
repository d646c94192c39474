'use strict';
// What a client decides that campaigns through musterd's ElectionService. It is told the time, and does no I/O.

const {Lease} = require('./lease');

/**
 * Until when this process leads, when it beats, when it leaves a stream for another one, and with which hello.
 *
 * It leads only between a grant and the earliest of its deadline, a loss, and resign(). Nothing that arrives after the
 * deadline revives the term. After a loss no new term begins before workEnded().
 *
 * `tell(event)` hears {kind: 'waiting' | 'granted' | 'giveUp' | 'lost' | 'resigned' | 'trouble' | 'disconnected' |
 * 'refused' | 'ended', …}; the last two are final.
 */
class Campaign {
  phase = 'waiting'; // 'leading', 'lost' (the work may still run), 'resigning', 'over'
  epoch = 0;
  #lease;
  #granted;
  #resignBy = Infinity;
  #tell;
  #random;
  #firstDelay;
  #delayMax;
  #paused = false;
  #stopping = false;
  #prefer = '';
  #open = false;
  #openAt = -Infinity;
  #failures = 0;
  #nextBeat = 0;
  #unanswered; // When the oldest beat was sent that has no answer.
  #beatAt = Infinity;
  #resign; // To be sent.
  #resigning; // The one under way.
  #close = false;

  constructor({lease, tell, random = Math.random, firstDelay = 100, delayMax = 2000}) {
    this.#lease = lease;
    this.#granted = new Lease(lease);
    this.#tell = tell;
    this.#random = random;
    this.#firstDelay = firstDelay;
    this.#delayMax = Math.min(delayMax, lease / 10);
  }

  leads(now) {
    return this.phase === 'leading' && this.#granted.valid(now);
  }

  get deadline() {
    return this.#granted.deadline;
  }

  /**
   * What is to be sent now, in this order: the time of the call counts as its send. A `hello` opens another stream and
   * replaces the one that there was; `close`: the stream is of no use any more.
   */
  takeWork(now) {
    this.#lapse(now);
    if (this.#open && this.#unanswered !== undefined && now >= this.#unanswered + this.#lease / 3) this.#abandon(now);
    const work = {close: this.#close};
    this.#close = false;
    if (this.phase === 'over' || this.phase === 'lost') return work;
    if (!this.#open) {
      if (now < this.#openAt) return work;
      this.#open = true;
      this.#granted.newStream();
      this.#granted.sent(0, now);
      this.#nextBeat = 1;
      this.#beatAt = now + this.#lease / 3;
      this.#unanswered = now;
      const goesOn = this.phase === 'leading' || this.phase === 'resigning';
      work.hello = {resumeEpoch: goesOn ? this.epoch : 0, paused: this.#paused};
      if (this.phase === 'resigning') this.#resign = this.#resigning;
    } else if (now >= this.#beatAt && this.phase !== 'resigning') {
      work.beat = this.#nextBeat++;
      this.#granted.sent(work.beat, now);
      this.#beatAt = now + this.#lease / 3;
      this.#unanswered ??= now;
    }
    work.resign = this.#resign;
    this.#resign = undefined;
    if (work.resign) {
      this.#unanswered = now;
      this.#beatAt = Infinity;
    }
    return work;
  }

  /** When takeWork() is due. */
  workAt() {
    if (this.#close) return -Infinity;
    if (this.phase === 'over') return Infinity;
    let due = this.phase === 'leading' ? this.deadline : this.phase === 'resigning' ? this.#resignBy : Infinity;
    if (!this.#open) return this.phase === 'lost' ? due : Math.min(due, this.#openAt);
    if (this.#resign) return -Infinity;
    if (this.phase !== 'lost') due = Math.min(due, this.#beatAt);
    return this.#unanswered === undefined ? due : Math.min(due, this.#unanswered + this.#lease / 3);
  }

  /** A message on the stream: `kind`, and the fields that it has. */
  heard(kind, news, now) {
    this.#lapse(now);
    if (!this.#open || this.phase === 'over') return;
    if (['waiting', 'granted', 'renewed'].includes(kind) && this.phase !== 'resigning') this.#answered(news.beat);
    switch (kind) {
      case 'waiting':
        this.#paused = news.paused;
        if (this.phase !== 'waiting') return;
        this.epoch = Math.max(this.epoch, news.epoch);
        this.#tell({kind, leader: news.leader, value: news.value, epoch: news.epoch});
        return;
      case 'granted':
        if (this.phase !== 'waiting') return;
        if (!this.#granted.grant(news.beat, news.left_ms, now)) return this.#abandon(now); // They are to begin anew.
        this.phase = 'leading';
        this.epoch = news.epoch;
        this.#tell({kind, epoch: this.epoch});
        return;
      case 'renewed':
        if (this.phase === 'resigning') return;
        // The term ended here before the servers confirmed it: nothing is revived.
        if (this.phase !== 'leading' || news.epoch !== this.epoch ||
            !this.#granted.renew(news.beat, news.left_ms, now)) this.#abandon(now);
        return;
      case 'give_up':
        this.#paused = news.paused;
        if (this.phase !== 'leading') return;
        this.#prefer = news.prefer;
        this.#tell({kind: 'giveUp', reason: news.reason});
        return;
      case 'lost':
        if (this.phase === 'resigning') {
          this.#endResigning(false);
          this.#abandon(now);
        } else if (this.phase === 'leading') this.#lose(news.reason);
        return;
      case 'resigned':
        if (this.phase !== 'resigning') return;
        this.#endResigning(news.confirmed);
        if (this.phase === 'waiting') this.#beatAt = now;
        return;
      case 'trouble':
        this.#tell({kind, reason: news.reason});
    }
  }

  /** The stream has ended, with an error unless the server said OK. `final`: the servers refuse the campaign. */
  streamEnded(error, final, now) {
    this.#lapse(now);
    if (!this.#open) return;
    this.#open = false;
    this.#unanswered = undefined;
    this.#reopenAt(now);
    if (!final) return this.#tell({kind: 'disconnected', error});
    if (this.phase === 'leading') this.#lose('refused');
    this.phase = 'over';
    this.#tell({kind: 'refused', error});
  }

  /** The work has ended: hands over, to `prefer` if it lives, and campaigns again later. */
  resign(prefer, now) {
    if (this.phase === 'lost') return this.workEnded(now);
    if (this.phase !== 'leading') return;
    this.phase = 'resigning';
    this.#resignBy = this.deadline;
    this.#resigning = {prefer: prefer || this.#prefer, stay: !this.#stopping};
    this.#prefer = '';
    if (this.#open) this.#resign = this.#resigning;
  }

  /** The work of a lost term has ended: campaigns again. */
  workEnded(now) {
    if (this.phase !== 'lost') return;
    this.phase = 'waiting';
    if (this.#stopping) return this.stop(now);
    this.#openAt = now;
  }

  /** Requires: the work has ended. Resigns, and ends the campaign. */
  stop(now) {
    this.#stopping = true;
    if (this.phase === 'lost') this.phase = 'waiting';
    if (this.phase === 'leading') return this.resign('', now);
    if (this.phase === 'resigning') this.#resigning = {...this.#resigning, stay: false};
    if (this.phase !== 'waiting') return;
    // The server removes what says that this process takes part; without a stream that expires.
    this.phase = 'resigning';
    this.#resigning = {prefer: '', stay: false};
    this.#resignBy = this.#open ? now + this.#lease / 3 : now;
    if (this.#open) this.#resign = this.#resigning;
  }

  #answered(beat) {
    this.#failures = 0;
    this.#unanswered = this.#granted.sentAfter(beat);
  }

  #lapse(now) {
    if (this.phase === 'leading' && !this.#granted.valid(now)) this.#lose('expired');
    if (this.phase === 'resigning' && now >= this.#resignBy) {
      this.#endResigning(false); // The lease expires by itself.
      this.#abandon(now);
    }
  }

  #lose(reason) {
    this.phase = 'lost';
    this.#leaveStream();
    this.#tell({kind: 'lost', reason});
  }

  #abandon(now) {
    this.#leaveStream();
    this.#reopenAt(now);
  }

  #leaveStream() {
    this.#close ||= this.#open;
    this.#open = false;
    this.#unanswered = undefined;
  }

  // At once the first time: a term may be running.
  #reopenAt(when) {
    const delay = Math.min(this.#firstDelay * 2 ** Math.min(this.#failures, 10), this.#delayMax);
    this.#openAt = when + (this.#failures++ > 0 ? delay / 2 + (this.#random() * delay) / 2 : 0);
  }

  #endResigning(confirmed) {
    const stays = this.#resigning.stay && !this.#stopping;
    this.#resign = undefined;
    this.#unanswered = undefined;
    this.#tell({kind: 'resigned', confirmed});
    this.phase = stays ? 'waiting' : 'over';
    if (stays) return;
    this.#leaveStream();
    this.#tell({kind: 'ended'});
  }
}

module.exports = {Campaign};
