// Questions for the rig's time bound the offset between both clocks.
const QUESTIONS = 8, EVERY = 10000;
let question = 0;

const ask = async () => {
  try {
    // Each question has its own address, because service workers may keep answers.
    const asked = now(), answer = await request(base + 'clock?' + number + '-' + asked, options());
    const text = await textOf(answer), answered = now(), time = +text;
    if (status(answer) !== 200 || text === '' || !(time >= 0) || head + 3 > limit) return;
    put(ASKED, question, asked);
    put(ANSWERED, question, answered);
    put(RIG, question++, time);
    schedule();
  } catch (e) {
    // The next question may be answered.
  }
};

const askAtStart = async () => {
  for (let i = 0; i < QUESTIONS; i++) await ask();
  askLater();
};

const askLater = () => {
  timer(async () => {
    await ask();
    if (!stopped) askLater();
  }, EVERY);
};
